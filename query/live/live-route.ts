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
  /** The operation that authorises a live query. */
  readonly operation: OperationIdentity;
}

/**
 * Answers a find with its records and their changes, until the client disconnects (docs/live.md).
 * @param args.request the request that is authorised @param args.asked reads its conditions once the space is open
 */
export async function liveAnswer(
  { live, openSpace, structures, operation }: LiveRouteParts,
  received: HttpRequest,
  {
    request,
    asked,
    cursor,
  }: {
    readonly request: LiveRequest;
    readonly asked: () => RequestConditions | Promise<RequestConditions>;
    readonly cursor?: string | undefined;
  },
): Promise<HttpResponse> {
  received.onOver(() => request.over());
  assertClearsNothing(request, structures);
  const space = await openSpace(request, operation);
  const last = received.header('last-event-id') ?? cursor ?? '';
  return live.answer({ request, operation, requested: await asked(), space, cursor: last });
}

/** Throws a 400 for a request that would delete records: live queries repeat their request. */
function assertClearsNothing(request: HttpRequest, structures: StructureCache): void {
  const { clearAllSpaces, usePreStoredStructure } = readRecordHeaders(request);
  const text = usePreStoredStructure ? undefined : request.header('structure');
  if (clearAllSpaces || (text && structures.read(text, readPath(request.params)).clear))
    throw invalidHeader([
      'A live query can not delete records: leave out clear-all-spaces, and clear in the structure',
    ]);
}

/** GET /{project}/{space}/_live_?key=...: the stream of an address that `POST` there made. */
export function liveRoute(
  deps: LiveRouteParts & { readonly addresses: LiveAddresses },
  address: ApiOperation,
): Route {
  return {
    method: 'GET',
    path: livePath,
    operation: 'live',
    api: describe(address),
    async handler(received) {
      const { headers, query, asked } = await deps.addresses.read(received);
      const request = new LiveRequest(received, { headers, query, needs: address.needs });
      const cursor = received.query.find(([name]) => name === 'lastEventId')?.[1];
      return liveAnswer(deps, received, { request, asked: () => asked, cursor });
    },
  };
}

/** @param address the operation that makes addresses */
function describe(address: ApiOperation): ApiOperation {
  return {
    id: 'watchRecords',
    tag: 'Read records',
    access: 'none',
    needs: null,
    summary: 'Watch records by an address',
    description:
      'The events of a live query (docs/live.md), for an address that a `POST` to the same path made.',
    parameters: [
      queryParameter('key', 'Part of the address', string),
      queryParameter(
        'lastEventId',
        "The id of the last event received, for clients that can't send headers",
        string,
      ),
    ],
    answers: { 200: { description: 'Events', content: { [eventStream]: { schema: string } } } },
    errors: [
      ...accountErrors,
      'not_allowed',
      'record_space_not_found',
      'too_many_records',
      'too_many_streams',
      'not_implemented',
    ],
    sample: (base) =>
      `${keeping('ADDRESS', 'address', address.sample?.(base) ?? '')}\ncurl -N --max-time 2 "${base}$ADDRESS" || true`,
  };
}
