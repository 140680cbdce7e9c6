import { ApiError } from '../../common/errors/api-error.ts';
import type { Log } from '../../common/log/log.ts';
import type { AskedConditions } from '../input/asked-conditions.ts';
import { ruled } from '../records/ruled.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationIdentity } from '../structure/space-auth.ts';
import { eventBytes, noPlace, retryBytes } from './live-events.ts';
import { livePlan } from './live-plan.ts';
import type { LiveRequest } from './live-request.ts';
import type { LiveSpace } from './live-space.ts';
import type { LiveStream } from './live-stream.ts';
import type { Snapshots } from './snapshots.ts';

/** Milliseconds after which a client comes back. */
export const retryAfter = 1000;

/** What a stream was asked for. */
export interface OpenStream {
  readonly stream: LiveStream;
  readonly request: LiveRequest;
  readonly operation: OperationIdentity;
  readonly asked: AskedConditions;
  /** The space as it was seen last. */
  view: RecordSpace | null;
}

export interface StreamDeps {
  readonly snapshots: Snapshots;
  readonly log: Pick<Log, 'error'>;
  /** Opens the space anew; throws when the request is not allowed any more. */
  view(open: OpenStream): Promise<RecordSpace>;
  /** The streams of a space that exists. */
  spaceOf(view: RecordSpace): Promise<LiveSpace>;
  /** Milliseconds after which clients come back whose streams end now. */
  comeBackAfter(): number;
  /** @param seconds from the moment in which the first of the changes could be seen */
  onEvents(events: number, seconds: number): void;
}

/** The bytes of a stream, for as long as it lasts. Rejects, before the first ones, as a find would. */
export async function* streamEvents(
  deps: StreamDeps,
  open: OpenStream,
  given: string,
): AsyncGenerator<Buffer> {
  const { stream, request } = open;
  let place = given;
  let hasBegun = false;
  while (stream.endedBy === null) {
    stream.begin();
    try {
      for await (const bytes of watch(deps, open, place, hasBegun)) {
        hasBegun = true;
        yield bytes;
      }
    } catch (error) {
      if (!hasBegun) throw error;
      if (!(error instanceof ApiError)) deps.log.error({ err: error }, 'a stream failed');
      stream.end(error instanceof ApiError ? error.code : 'it failed');
    }
    place = '';
  }
  if (!request.signal.aborted)
    yield Buffer.concat([retryBytes(deps.comeBackAfter()), Buffer.from(`: ${stream.endedBy}\n\n`)]);
}

/** The records, and what happens to them until they have to be read again. */
async function* watch(
  deps: StreamDeps,
  open: OpenStream,
  place: string,
  isAgain: boolean,
): AsyncGenerator<Buffer> {
  const { stream, request, asked } = open;
  const view = await deps.view(open);
  open.view = view;
  const plan = livePlan(asked, request, view);
  const { shown } = plan;
  const key = `${asked.key} ${request.header('options') ?? ''}`;
  const wanted = { view, key, shown, conditions: ruled(view, plan.conditions) };
  const space = view.missing ? null : await deps.spaceOf(view);
  const joined = space && { space, query: space.join(stream, wanted) };
  try {
    const isResumed = place !== '' && joined?.space.resume(stream, joined.query, { view, place }) === true;
    // they go with what follows: until then there may be a refusal instead
    const first = [
      ...(isAgain ? [] : [retryBytes(retryAfter)]),
      ...(!isResumed && (isAgain || place !== '') ? [eventBytes('reset', noPlace, '{}')] : []),
    ];
    const withFirst = (bytes: Buffer): Buffer => Buffer.concat([...first.splice(0), bytes]);
    if (joined === null) yield withFirst(eventBytes('snapshot', noPlace, '[]'));
    else if (!isResumed)
      for await (const bytes of deps.snapshots.events(view, plan, joined.query, request.signal))
        yield withFirst(bytes);
    // what was read last may be newer than what was told
    await space?.caughtUp();
    request.over();
    if (!stream.isReset && stream.endedBy === null) {
      const ready = eventBytes('ready', space?.place ?? noPlace, '{}');
      yield withFirst(Buffer.concat([stream.takeEvents(), ready]));
    }
    for (;;) {
      await stream.next();
      if (stream.isReset || stream.endedBy !== null) return;
      const { bytes, events, since } = stream.take();
      if (events > 0) deps.onEvents(events, (performance.now() - since) / 1000);
      yield bytes;
    }
  } finally {
    joined?.space.leave(stream, joined.query, wanted);
  }
}
