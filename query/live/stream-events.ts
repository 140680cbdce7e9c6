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

const noBytes = Buffer.alloc(0);

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

/** From where a stream goes on. */
interface From {
  /** Of the last event that the client has; empty: none. */
  readonly place: string;
  /** What the client was told counts no more. */
  readonly isAgain: boolean;
  hasBegun: boolean;
}

/** The bytes of a stream, for as long as it lasts. Rejects, before the first ones, as a find would. */
export async function* streamEvents(
  deps: StreamDeps,
  open: OpenStream,
  given: string,
): AsyncGenerator<Buffer> {
  const { stream, request } = open;
  const from: From = { place: given, isAgain: false, hasBegun: false };
  while (stream.endedBy === null) {
    stream.begin();
    try {
      for await (const bytes of watch(deps, open, from)) {
        from.hasBegun = true;
        yield bytes;
      }
    } catch (error) {
      if (!from.hasBegun) throw error;
      if (!(error instanceof ApiError)) deps.log.error({ err: error }, 'a stream failed');
      stream.end(error instanceof ApiError ? error.code : 'it failed');
    }
    Object.assign(from, { place: '', isAgain: true });
  }
  if (!request.signal.aborted)
    yield Buffer.concat([retryBytes(deps.comeBackAfter()), Buffer.from(`: ${stream.endedBy}\n\n`)]);
}

/** The records, and what happens to them until they have to be read again. */
async function* watch(deps: StreamDeps, open: OpenStream, from: From): AsyncGenerator<Buffer> {
  const { stream, request, asked } = open;
  const { place, isAgain, hasBegun } = from;
  const view = await deps.view(open);
  open.view = view;
  const plan = livePlan(asked, request, view);
  const { shown } = plan;
  const key = `${asked.key} ${request.header('options') ?? ''}`;
  const wanted = { view, key, shown, conditions: ruled(view, plan.conditions) };
  const space = view.missing ? null : await deps.spaceOf(view);
  const joined = space && { space, stream, query: space.join(stream, wanted) };
  try {
    const isResumed = place !== '' && joined?.space.resume(stream, joined.query, { view, place }) === true;
    const isReset = !isResumed && (isAgain || place !== '');
    // with the first records, because those may be too many, which is another answer
    let head = Buffer.concat([
      hasBegun ? noBytes : retryBytes(retryAfter),
      isReset ? eventBytes('reset', noPlace, '{}') : noBytes,
    ]);
    const records = isResumed || !joined ? [] : deps.snapshots.events(view, plan, joined, request.signal);
    for await (const bytes of records) {
      yield Buffer.concat([head, bytes]);
      head = noBytes;
      if (stream.isReset || stream.endedBy !== null) return;
    }
    if (!joined) head = Buffer.concat([head, eventBytes('snapshot', noPlace, '[]')]);
    // what was read last may be newer than what was told
    await space?.caughtUp();
    request.over();
    const at = joined ? joined.space.placeOf(joined.query) : noPlace;
    if (!stream.isReset && stream.endedBy === null)
      yield Buffer.concat([head, stream.takeEvents(), eventBytes('ready', at, '{}')]);
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
