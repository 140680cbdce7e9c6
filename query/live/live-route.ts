import { invalidHeader } from '#kernel/errors/catalogue.ts';
import { string } from '#kernel/json/schema.ts';
import type { OperationIdentity } from '#records/structure/space-auth.ts';
import { eventStream } from '#server/http/event-stream.ts';
import type { HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import { type ApiOperation, accountErrors, queryParameter } from '#server/openapi/api-operation.ts';
import { keeping } from '#server/openapi/curl.ts';
import { readRecordHeaders } from '../input/record-headers.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import { readPath } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { OpenSpace } from '../space/open-space.ts';
import type { LiveAddresses } from './live-addresses.ts';
import { LiveRequest } from './live-request.ts';
import type { LiveStreams } from './live-streams.ts';

export const livePath = '/:project/:space/_live_';

interface LiveRouteParts {
  readonly live: LiveStreams;
  readonly openSpace: OpenSpace;
  readonly structures: StructureCache;
  /** As which a live find is authorised. */
  readonly operation: OperationIdentity;
}

/**
 * Answers a find with its records and with what happens to them, until the client goes (docs/live.md).
 * @param request as it is to be seen @param asked its conditions; they are read when the space is open
 */
export async function liveAnswer(
  { live, openSpace, structures, operation }: LiveRouteParts,
  given: HttpRequest,
  {
    request,
    asked,
    place,
  }: {
    readonly request: LiveRequest;
    readonly asked: () => RequestConditions | Promise<RequestConditions>;
    readonly place?: string | undefined;
  },
): Promise<HttpResponse> {
  given.onOver(() => request.over());
  assertClearsNothing(request, structures);
  const space = await openSpace(request, operation);
  const last = given.header('last-event-id') ?? place ?? '';
  return live.answer({ request, operation, asked: await asked(), space, place: last });
}

/** Throws a 400 for a request that deletes records: it is asked again and again. */
function assertClearsNothing(request: HttpRequest, structures: StructureCache): void {
  const { clearAllSpaces, usePreStoredStructure } = readRecordHeaders(request);
  const text = usePreStoredStructure ? undefined : request.header('structure');
  if (clearAllSpaces || (text && structures.read(text, readPath(request.params)).clear))
    throw invalidHeader([
      'A live find clears nothing: leave out clear-all-spaces, and clear in the structure',
    ]);
}

/** GET /{project}/{space}/_live_?key=...: the stream of an address that `POST` there made. */
export function liveRoute(
  deps: LiveRouteParts & { readonly addresses: LiveAddresses },
  address: ApiOperation,
): Route {
  return {
    ...{ method: 'GET', path: livePath, operation: 'live', api: describe(address) },
    async handler(given) {
      const { headers, query, asked } = await deps.addresses.read(given);
      const request = new LiveRequest(given, { headers, query, needs: address.needs });
      const place = given.query.find(([name]) => name === 'lastEventId')?.[1];
      return liveAnswer(deps, given, { request, asked: () => asked, place });
    },
  };
}

/** @param address the operation that answers one */
function describe(address: ApiOperation): ApiOperation {
  return {
    ...{ id: 'watchRecords', tag: 'Read records', access: 'none', needs: null },
    summary: 'Watch records by an address',
    description: 'The events of a live find (docs/live.md), by an address that `POST` at the same path made.',
    parameters: [
      queryParameter('key', 'Of the address', string),
      queryParameter('lastEventId', 'Of the last event that came, where no header can say it', string),
    ],
    answers: { 200: { description: 'Events', content: { [eventStream]: { schema: string } } } },
    errors: [
      ...accountErrors,
      ...(['not_allowed', 'record_space_not_found', 'too_many_records', 'too_many_streams'] as const),
      'not_implemented',
    ],
    sample: (base) =>
      `${keeping('ADDRESS', 'address', address.sample?.(base) ?? '')}\ncurl -N --max-time 2 "${base}$ADDRESS" || true`,
  };
}
