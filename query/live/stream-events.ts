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
  const query = space?.join(stream, wanted);
  try {
    const isResumed = place !== '' && space?.resume(stream, view, place) === true;
    // with the first event of a snapshot, which may be refused instead
    const head = isAgain ? [] : [retryBytes(retryAfter)];
    if (!isResumed && (isAgain || place !== '')) head.push(eventBytes('reset', noPlace, '{}'));
    if (!query) head.push(eventBytes('snapshot', noPlace, '[]'));
    else if (!isResumed)
      for await (const bytes of deps.snapshots.events(view, plan, query, request.signal))
        yield Buffer.concat([...head.splice(0), bytes]);
    // what was read last may be newer than what was told
    await space?.caughtUp();
    request.over();
    if (!stream.isReset && stream.endedBy === null)
      yield Buffer.concat([...head, stream.takeEvents(), eventBytes('ready', space?.place ?? noPlace, '{}')]);
    for (;;) {
      await stream.next();
      if (stream.isReset || stream.endedBy !== null) return;
      const { bytes, events, since } = stream.take();
      if (events > 0) deps.onEvents(events, (performance.now() - since) / 1000);
      yield bytes;
    }
  } finally {
    space?.leave(stream, wanted);
  }
}
