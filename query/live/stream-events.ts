import { ApiError } from '#kernel/errors/api-error.ts';
import type { Log } from '#kernel/log/log.ts';
import { ruled } from '#records/ruled.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { loginTokenOf } from '../login/authorize.ts';
import type { LiveChecks } from './live-checks.ts';
import { eventBytes, noPlace, retryBytes } from './live-events.ts';
import { type LivePlan, livePlan } from './live-plan.ts';
import type { LiveSpace } from './live-space.ts';
import type { OpenStream } from './open-stream.ts';
import type { Joined, Snapshots } from './snapshots.ts';

const noBytes = Buffer.alloc(0);
/** What is sent behind a snapshot for what changed meanwhile, until `ready`: a share of its bytes, or these if that is less. */
const late = { share: 1 / 3, bytes: 512 * 1024 };

/** Milliseconds after which a client comes back. */
export const retryAfter = 1000;

export interface StreamParts {
  readonly snapshots: Snapshots;
  readonly log: Pick<Log, 'error'>;
  readonly checks: Pick<LiveChecks, 'view' | 'maySend'>;
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
  deps: StreamParts,
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
    const isAgain = from.hasBegun || from.place !== '';
    Object.assign(from, { place: '', isAgain });
  }
  if (!request.signal.aborted)
    yield Buffer.concat([retryBytes(deps.comeBackAfter()), Buffer.from(`: ${stream.endedBy}\n`)]);
}

/** The records, and what happens to them until they have to be read again. */
async function* watch(deps: StreamParts, open: OpenStream, from: From): AsyncGenerator<Buffer> {
  const { stream, request, asked } = open;
  const view = await deps.checks.view(open);
  open.view = view;
  open.isOfUser = loginTokenOf(request, view) !== null;
  const plan = livePlan(asked, request, view);
  const { shown } = plan;
  const key = `${asked.key} ${request.header('options') ?? ''}`;
  const wanted = { view, key, shown, conditions: ruled(view, plan.conditions) };
  const space = view.missing ? null : await deps.spaceOf(view);
  const joined = space && { space, stream, query: space.join(stream, wanted) };
  try {
    // rules that changed before it joined were not heard
    if (joined && !(await deps.checks.maySend(open, true))) return;
    yield* beginning(deps, { open, from, view, plan, joined });
    for (;;) {
      await stream.next();
      if (stream.isReset || stream.endedBy !== null) return;
      const isLate = joined !== null && stream.hasLate;
      const taken = isLate ? await deps.snapshots.late(view, joined, request.signal) : stream.take();
      const { bytes, events, since } = taken;
      if (events > 0) {
        if (!(await deps.checks.maySend(open))) return;
        deps.onEvents(events, (performance.now() - since) / 1000);
      }
      if (bytes.byteLength > 0) yield bytes;
    }
  } finally {
    joined?.space.leave(stream, joined.query, wanted);
  }
}

interface Beginning {
  readonly open: OpenStream;
  readonly from: From;
  readonly view: RecordSpace;
  readonly plan: LivePlan;
  /** Null: there is no such space. */
  readonly joined: Joined | null;
}

/** The records, and what happened meanwhile; or what was missed. Ends early when the records have to be read again. */
async function* beginning(
  deps: StreamParts,
  { open, from, view, plan, joined }: Beginning,
): AsyncGenerator<Buffer> {
  const { stream, request } = open;
  const { place, isAgain, hasBegun } = from;
  const isResumed = place !== '' && joined?.space.resume(stream, joined.query, { view, place }) === true;
  const isReset = !isResumed && (isAgain || place !== '');
  // with the first records, because those may be too many, which is another answer
  let head = Buffer.concat([
    hasBegun ? noBytes : retryBytes(retryAfter),
    isReset ? eventBytes('reset', noPlace, '{}') : noBytes,
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
  if (!joined) head = Buffer.concat([head, eventBytes('snapshot', noPlace, '[]')]);
  // writers that are faster than the client would keep it from `ready`: it hears of the rest behind it
  const missed = isResumed ? stream.lateBytes : 0;
  for (let left = missed + Math.max((sent + missed) * late.share, late.bytes); left > 0; ) {
    if (!joined || !stream.hasLate) break;
    const { bytes } = await deps.snapshots.late(view, joined, request.signal);
    if (!(await deps.checks.maySend(open))) return;
    yield Buffer.concat([head, bytes]);
    head = noBytes;
    left -= bytes.byteLength;
    if (stream.isReset || stream.endedBy !== null) return;
  }
  // what was read last may be newer than what was told
  await joined?.space.caughtUp();
  request.over();
  const first = stream.firstLate;
  const at = joined ? joined.space.placeOf(joined.query, first && first - 1) : noPlace;
  const events = stream.hasLate ? noBytes : stream.takeEvents();
  const ready = Buffer.concat([head, events, eventBytes('ready', at, '{}')]);
  if (await deps.checks.maySend(open)) yield ready;
}
