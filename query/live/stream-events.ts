import { ApiError } from '#kernel/errors/api-error.ts';
import type { Log } from '#kernel/log/log.ts';
import { ruled } from '#records/ruled.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { loginTokenOf } from '../login/authorize.ts';
import type { LiveChecks } from './live-checks.ts';
import { eventBytes, noCursor, retryBytes } from './live-events.ts';
import { type LivePlan, livePlan } from './live-plan.ts';
import type { LiveSpace } from './live-space.ts';
import type { OpenStream } from './open-stream.ts';
import type { JoinedStream, Snapshots } from './snapshots.ts';

const noBytes = Buffer.alloc(0);
/** Bytes of deferred records that are sent between the snapshot and `ready`: a share of the snapshot, and at least `bytes`. */
const catchUp = { share: 1 / 3, bytes: 512 * 1024 };

/** Milliseconds after which a client reconnects. */
export const retryAfter = 1000;

export interface StreamParts {
  readonly snapshots: Snapshots;
  readonly log: Pick<Log, 'error'>;
  readonly checks: Pick<LiveChecks, 'view' | 'maySend'>;
  /** @param view a space that exists */
  spaceOf(view: RecordSpace): Promise<LiveSpace>;
  /** Milliseconds after which a client whose stream ends now should reconnect. */
  reconnectAfter(): number;
  /** @param seconds since the first of the changes became visible */
  onEvents(events: number, seconds: number): void;
}

/** How far a stream is. */
interface StreamProgress {
  /** The cursor of the client's last event; empty: none. */
  cursor: string;
  /** Whether the client must drop the records that it has. */
  isRestarted: boolean;
  hasBegun: boolean;
}

/** The bytes of a stream, as long as it lasts. Before the first bytes, it rejects as a find would. */
export async function* streamEvents(
  deps: StreamParts,
  open: OpenStream,
  cursor: string,
): AsyncGenerator<Buffer> {
  const { stream, request } = open;
  const progress: StreamProgress = { cursor, isRestarted: false, hasBegun: false };
  while (stream.endedBy === null) {
    stream.begin();
    try {
      for await (const bytes of watch(deps, open, progress)) {
        progress.hasBegun = true;
        yield bytes;
      }
    } catch (error) {
      if (!progress.hasBegun) throw error;
      if (!(error instanceof ApiError)) deps.log.error({ err: error }, 'a stream failed');
      stream.end(error instanceof ApiError ? error.code : 'it failed');
    }
    progress.isRestarted = progress.hasBegun || progress.cursor !== '';
    progress.cursor = '';
  }
  if (!request.signal.aborted)
    yield Buffer.concat([retryBytes(deps.reconnectAfter()), Buffer.from(`: ${stream.endedBy}\n`)]);
}

/** The records and their changes, until the records must be read again. */
async function* watch(deps: StreamParts, open: OpenStream, progress: StreamProgress): AsyncGenerator<Buffer> {
  const { stream, request, requested } = open;
  const view = await deps.checks.view(open);
  open.view = view;
  open.isOfUser = loginTokenOf(request, view) !== null;
  const plan = livePlan(requested, request, view);
  const { shown } = plan;
  const key = `${requested.key} ${request.header('options') ?? ''}`;
  const subscription = { view, key, shown, conditions: ruled(view, plan.conditions) };
  const space = view.missing ? null : await deps.spaceOf(view);
  const joined = space && { space, stream, query: space.join(stream, subscription) };
  try {
    // the stream heard of no rules that changed before it joined
    if (joined && !(await deps.checks.maySend(open, true))) return;
    yield* sendBeginning(deps, { open, progress, view, plan, joined });
    for (;;) {
      await stream.next();
      if (stream.isReset || stream.endedBy !== null) return;
      const isDeferred = joined !== null && stream.hasDeferred;
      const taken = isDeferred ? await deps.snapshots.deferred(view, joined, request.signal) : stream.take();
      const { bytes, events, since } = taken;
      if (events > 0) {
        if (!(await deps.checks.maySend(open))) return;
        deps.onEvents(events, (performance.now() - since) / 1000);
      }
      if (bytes.byteLength > 0) yield bytes;
    }
  } finally {
    joined?.space.leave(stream, joined.query, subscription);
  }
}

interface Beginning {
  readonly open: OpenStream;
  readonly progress: StreamProgress;
  readonly view: RecordSpace;
  readonly plan: LivePlan;
  /** Null: the space does not exist. */
  readonly joined: JoinedStream | null;
}

/** Sends the records and what changed meanwhile, or what a resumed client missed. Ends early if they must be read again. */
async function* sendBeginning(
  deps: StreamParts,
  { open, progress, view, plan, joined }: Beginning,
): AsyncGenerator<Buffer> {
  const { stream, request } = open;
  const { cursor, isRestarted, hasBegun } = progress;
  const isResumed = cursor !== '' && joined?.space.resume(stream, joined.query, { view, cursor }) === true;
  const isReset = !isResumed && (isRestarted || cursor !== '');
  // sent with the first records: too many records get an error answer instead
  let head = Buffer.concat([
    hasBegun ? noBytes : retryBytes(retryAfter),
    isReset ? eventBytes('reset', noCursor, '{}') : noBytes,
  ]);
  let sent = 0;
  const records = isResumed || !joined ? [] : deps.snapshots.events(view, plan, joined, request.signal);
  for await (const bytes of records) {
    if (!(await deps.checks.maySend(open))) return;
    yield Buffer.concat([head, bytes]);
    head = noBytes;
    sent += bytes.byteLength;
    if (stream.isReset || stream.endedBy !== null) return;
  }
  if (!joined) head = Buffer.concat([head, eventBytes('snapshot', noCursor, '[]')]);
  // writers that are faster than the client would delay `ready` forever: the rest follows it
  const missed = isResumed ? stream.deferredBytes : 0;
  for (let left = missed + Math.max((sent + missed) * catchUp.share, catchUp.bytes); left > 0; ) {
    if (!joined || !stream.hasDeferred) break;
    const { bytes } = await deps.snapshots.deferred(view, joined, request.signal);
    if (!(await deps.checks.maySend(open))) return;
    yield Buffer.concat([head, bytes]);
    head = noBytes;
    left -= bytes.byteLength;
    if (stream.isReset || stream.endedBy !== null) return;
  }
  // the last read may be ahead of the delivered changes
  await joined?.space.caughtUp();
  request.over();
  const first = stream.firstDeferred;
  const at = joined ? joined.space.cursorOf(joined.query, first && first - 1) : noCursor;
  const events = stream.hasDeferred ? noBytes : stream.takeEvents();
  const ready = Buffer.concat([head, events, eventBytes('ready', at, '{}')]);
  if (await deps.checks.maySend(open)) yield ready;
}
