import { createHash } from 'node:crypto';
import type { Authenticate } from '#auth/authenticate.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { shuttingDown } from '#kernel/errors/catalogue.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { RecordStore, StopListening } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import { comment } from '#server/http/event-stream.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import type { OpenSpace } from '../space/open-space.ts';
import { checkEvery, isSame, isTransient, LiveChecks } from './live-checks.ts';
import { eventHeaders } from './live-events.ts';
import { livePlan } from './live-plan.ts';
import { LiveSpace } from './live-space.ts';
import { LiveStream } from './live-stream.ts';
import type { OpenStream } from './open-stream.ts';
import { type SnapshotParts, Snapshots } from './snapshots.ts';
import { retryAfter, type StreamParts, streamEvents } from './stream-events.ts';
import { StreamPlaces } from './stream-places.ts';

const listenTimeout = 5000;
/** Milliseconds for which a space is still listened to after its last stream left: clients may reconnect. */
const idleFor = 60_000;
/** Bytes of events that may be queued for all clients of the process. */
const mostQueued = 64 * 1024 * 1024;
/** Milliseconds within which a client must read the end of its stream: a stalled client would keep its place and delay shutdown. */
const endTimeout = 1000;
/** Milliseconds over which clients reconnect after a drain, so that they don't come all at once. */
const spread = 5000;
const { signal: never } = new AbortController();

export interface LiveParts extends SnapshotParts {
  readonly store: RecordStore;
  /** `authenticate` and `openSpace` must not count requests for rate limits. */
  readonly authenticate: Authenticate;
  readonly openSpace: OpenSpace;
  readonly config: Pick<Config, 'liveMaxStreams' | 'liveMaxTokenStreams'>;
  readonly log: Pick<Log, 'error'>;
  readonly metrics: Pick<Metrics, 'gauge' | 'counter' | 'durations'>;
}

interface OpenLiveSpace {
  readonly space: LiveSpace;
  readonly stop: StopListening;
}

/** The live queries of a process (docs/live.md). */
export class LiveStreams {
  readonly #deps: LiveParts;
  readonly #checks: LiveChecks;
  readonly #streamParts: StreamParts;
  /** By the identity of their requests: equal requests have the same permissions. */
  readonly #streams = new Map<string, Set<OpenStream>>();
  readonly #places: StreamPlaces;
  readonly #spaces = new Map<string, Promise<OpenLiveSpace>>();
  /** Groups whose check is running: a slow store is not queried twice. */
  readonly #checking = new WeakSet<ReadonlySet<OpenStream>>();
  readonly #changeLogs = { bytes: 0, spaces: () => this.#spaces.size };
  readonly #queued = { bytes: 0, most: mostQueued, streams: 0 };
  readonly #timer: NodeJS.Timeout;
  #events = 0;
  #isChecking = false;
  #isDraining = false;

  constructor(deps: LiveParts) {
    this.#deps = deps;
    const { metrics, log, config } = deps;
    this.#checks = new LiveChecks(deps.openSpace);
    this.#places = new StreamPlaces({ process: config.liveMaxStreams, token: config.liveMaxTokenStreams });
    const delays = metrics.durations(
      'sluice_live_delay_seconds',
      'Time from when a change became visible until its event was given to a connection',
    );
    metrics.gauge('sluice_live_streams', 'Live queries that are open', () => this.#places.count);
    metrics.counter('sluice_live_events_total', 'Events of live queries', () => this.#events);
    this.#streamParts = {
      snapshots: new Snapshots(deps),
      log,
      checks: this.#checks,
      spaceOf: (view) => this.#spaceOf(view.id),
      reconnectAfter: () => retryAfter + (this.#isDraining ? Math.floor(Math.random() * spread) : 0),
      onEvents: (events, seconds) => {
        this.#events += events;
        delays(seconds);
      },
    };
    this.#timer = setInterval(() => void this.#check(), checkEvery).unref();
  }

  /** Answers with the events of a find. @param args.space as the request sees it @param args.cursor of the client's last event */
  answer(
    args: Pick<OpenStream, 'request' | 'operation' | 'requested'> & {
      readonly space: RecordSpace;
      readonly cursor: string;
    },
  ): HttpResponse {
    const { request, operation, requested, space, cursor } = args;
    // refuse a bad request before the stream begins
    livePlan(requested, request, space);
    const stream = new LiveStream(this.#queued);
    const open: OpenStream = { stream, request, operation, requested, view: null, isOfUser: false };
    const cut = new AbortController();
    const sender = space.bound?.user ? `user ${space.bound.user}` : addressOwner(request.address);
    const chunks = this.#run(open, { cursor, sender }, cut);
    const body = { chunks, cut: cut.signal, filler: comment };
    return { status: 200, headers: eventHeaders, body };
  }

  /** Ends all streams. Clients reconnect, spread over some seconds, to other processes. */
  drain(): void {
    this.#isDraining = true;
    for (const group of this.#streams.values())
      for (const { stream } of group) stream.end('the server stops');
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.drain();
    for (const id of [...this.#spaces.keys()]) await this.#stopListening(id);
  }

  async *#run(
    open: OpenStream,
    { cursor, sender }: { readonly cursor: string; readonly sender: string },
    cut: AbortController,
  ): AsyncGenerator<Buffer> {
    const { request, stream } = open;
    let ending: NodeJS.Timeout | undefined;
    // once it has a place, it may have to give it up
    stream.onEnd = () => {
      ending = setTimeout(() => cut.abort(), endTimeout).unref();
    };
    const leave = await this.#admit(open, sender);
    const onAbort = (): void => stream.end('the client has gone');
    request.signal.addEventListener('abort', onAbort, { once: true });
    try {
      yield* streamEvents(this.#streamParts, open, cursor);
    } finally {
      request.signal.removeEventListener('abort', onAbort);
      clearTimeout(ending);
      leave();
    }
  }

  /** Gives a stream a place. Throws 429. @param sender a user or an address, as many clients share a publishable token */
  async #admit(open: OpenStream, sender: string): Promise<() => void> {
    const { userId, tokenId, grants } = await this.#deps.authenticate(open.request, 'by rules');
    if (this.#isDraining) throw shuttingDown();
    const leave = this.#places.take([userId, tokenId, grants?.publishable ? sender : ''], open.stream);
    this.#queued.streams = this.#places.count;
    const identity = createHash('sha256').update(open.request.identity).digest('base64');
    const group = this.#streams.get(identity) ?? new Set();
    this.#streams.set(identity, group.add(open));
    return () => {
      leave();
      this.#queued.streams = this.#places.count;
      group.delete(open);
      if (group.size === 0) this.#streams.delete(identity);
      open.stream.clear();
      open.request.over();
    };
  }

  async #spaceOf(spaceId: string): Promise<LiveSpace> {
    for (;;) {
      const opening = this.#listen(spaceId);
      const { space } = await opening;
      // closed meanwhile, as it had no stream
      if (this.#spaces.get(spaceId) !== opening) continue;
      space.idleSince = performance.now();
      return space;
    }
  }

  #listen(spaceId: string): Promise<OpenLiveSpace> {
    const known = this.#spaces.get(spaceId);
    if (known !== undefined) return known;
    const { store, log } = this.#deps;
    const space = new LiveSpace({ singleWriter: store.singleWriter, logs: this.#changeLogs, log });
    const opening = store
      .listen(spaceId, space, AbortSignal.timeout(listenTimeout))
      .then((stop) => ({ space, stop }));
    this.#spaces.set(spaceId, opening);
    opening.catch(() => this.#spaces.delete(spaceId));
    return opening;
  }

  async #stopListening(spaceId: string): Promise<void> {
    const opening = this.#spaces.get(spaceId);
    this.#spaces.delete(spaceId);
    const open = await opening?.catch(() => null);
    open?.stop();
    open?.space.reset();
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const now = performance.now();
      await forEachYielding([...this.#streams.values()], (group) => this.#checkGroup(group, now), never);
      await this.#closeIdle(now);
    } finally {
      this.#isChecking = false;
    }
  }

  #checkGroup(group: ReadonlySet<OpenStream>, now: number): void {
    for (const { stream } of group) stream.tick(now);
    const [first] = group;
    if (first === undefined || this.#checking.has(group)) return;
    this.#checking.add(group);
    const end = (reason: string): void => {
      for (const { stream } of group) stream.end(reason);
    };
    this.#checks
      .view(first)
      .then(
        (view) => {
          // a stream without a view is about to open its space
          for (const open of group) if (open.view !== null && !isSame(open.view, view)) open.stream.reset();
        },
        (error: unknown) => {
          if (isTransient(error)) return;
          if (error instanceof ApiError) return end(error.code);
          this.#deps.log.error({ err: error }, 'a check whether streams are still allowed failed');
          end('it failed');
        },
      )
      .finally(() => this.#checking.delete(group));
  }

  async #closeIdle(now: number): Promise<void> {
    const isCrowded = this.#spaces.size > this.#deps.config.liveMaxStreams;
    for (const [id, opening] of this.#spaces) {
      const { space } = (await opening.catch(() => null)) ?? {};
      const isIdle = space?.streams === 0 && now - space.idleSince > (isCrowded ? checkEvery : idleFor);
      if (isIdle) await this.#stopListening(id);
    }
  }
}
