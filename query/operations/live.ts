import type { HttpResponse } from '../../common/http/http-types.ts';
import { queryParameter } from '../../common/openapi/api-operation.ts';
import { exactObject, string } from '../../common/openapi/schema.ts';
import { type AskedConditions, askedConditions } from '../input/asked-conditions.ts';
import { acceptQuery } from '../input/query-media-type.ts';
import { eventStream } from '../live/live-events.ts';
import { livePlan } from '../live/live-plan.ts';
import { LiveRequest } from '../live/live-request.ts';
import { conditionErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationCall, OperationDefinition, OperationDeps } from './operation.ts';

/** Whether a find is to stay open. */
export function isLive({ request }: OperationCall): boolean {
  return request.header('accept')?.includes(eventStream) === true;
}

/** Answers a find with its records and with what happens to them, until the client goes (docs/live.md). */
export async function liveAnswer(
  call: OperationCall,
  deps: Pick<OperationDeps, 'live'>,
  given?: { readonly request: LiveRequest; readonly asked: AskedConditions },
): Promise<HttpResponse> {
  const request = given?.request ?? new LiveRequest(call.request);
  call.request.onOver(() => request.over());
  const space = await call.open(undefined, request);
  const asked = given?.asked ?? (await askedConditions(request, call.body));
  const last = call.request.query.find(([name]) => name === 'lastEventId')?.[1];
  const place = request.header('last-event-id') ?? (given && last) ?? '';
  const answer = deps.live.answer({ request, operation: call.operation, asked, space, place });
  return given ? answer : { ...answer, headers: { ...acceptQuery, ...answer.headers } };
}

const expiry = { ...string, format: 'date-time' };

/** POST /{project}/{space}/_live_: an address for a client that can't send headers. */
export const liveAddress: OperationDefinition = {
  async run(call, { addresses }) {
    const { request } = call;
    const space = await call.open();
    const asked = await askedConditions(request, call.body);
    livePlan(asked, request, space);
    return jsonAnswer(JSON.stringify(await addresses.make(request, asked)));
  },
  summary: 'Make an address for a live find',
  description:
    "For browsers' EventSource, which sends no headers: an address that is good for a minute, for a stream to begin.",
  options: true,
  parameters: ({ conditions }) => conditions,
  body: ({ conditionsBody }) => conditionsBody,
  answer: () => exactObject({ address: string, expiresAt: expiry }),
  errors: [...conditionErrors, 'query_too_expensive'],
  sample: { first: makePerson, body: '{"name":"Ada"}' },
};

/** GET /{project}/{space}/_live_?key=...: the stream of such an address. */
export const liveByAddress: OperationDefinition = {
  async run(call, { addresses, live }) {
    const { headers, query, asked } = await addresses.read(call.request);
    const request = new LiveRequest(call.request, { headers, query });
    return liveAnswer(call, { live }, { request, asked });
  },
  summary: 'Watch records by an address',
  description: 'The events of a live find, by an address that `POST` at the same path made.',
  spaceHeaders: 'none',
  parameters: () => [
    queryParameter('key', 'Of the address', string),
    queryParameter(
      'lastEventId',
      'Of the last event that came, in place of the header Last-Event-ID',
      string,
    ),
  ],
  answers: {
    200: { description: 'Events', content: { [eventStream]: { schema: string } } },
  },
  errors: [...conditionErrors, 'query_too_expensive', 'too_many_records', 'too_many_streams'],
  sample: { first: makePerson, query: '?key=...' },
};
