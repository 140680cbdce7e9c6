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
import { checkEvery, isPassing, isSame, LiveChecks } from './live-checks.ts';
import { eventHeaders } from './live-events.ts';
import { livePlan } from './live-plan.ts';
import { LiveSpace } from './live-space.ts';
import { LiveStream } from './live-stream.ts';
import type { OpenStream } from './open-stream.ts';
import { type SnapshotParts, Snapshots } from './snapshots.ts';
import { retryAfter, type StreamParts, streamEvents } from './stream-events.ts';
import { StreamPlaces } from './stream-places.ts';

const listenTimeout = 5000;
/** Milliseconds for which a space is listened to when its last stream has left: its clients may come back. */
const idleFor = 60_000;
/** Bytes of events that wait for all clients of the process. */
const mostWaiting = 64 * 1024 * 1024;
/** Milliseconds in which a client must take the end of its stream: a stalled one would keep its place, and delay a shutdown. */
const endFor = 1000;
/** Milliseconds over which clients come back that are sent away together. */
const spread = 5000;
const { signal: never } = new AbortController();

export interface LiveParts extends SnapshotParts {
  readonly store: RecordStore;
  /** Neither counts a request for rate limits. */
  readonly authenticate: Authenticate;
  readonly openSpace: OpenSpace;
  readonly config: Pick<Config, 'liveMaxStreams' | 'liveMaxTokenStreams'>;
  readonly log: Pick<Log, 'error'>;
  readonly metrics: Pick<Metrics, 'gauge' | 'counter' | 'durations'>;
}

interface Listened {
  readonly space: LiveSpace;
  readonly stop: StopListening;
}

/** The live finds of a process (docs/live.md). */
export class LiveStreams {
  readonly #deps: LiveParts;
  readonly #checks: LiveChecks;
  readonly #parts: StreamParts;
  /** By a key that streams with the same permissions share. */
  readonly #streams = new Map<string, Set<OpenStream>>();
  readonly #places: StreamPlaces;
  readonly #spaces = new Map<string, Promise<Listened>>();
  /** Streams that are being looked after: a store that is slow is not asked twice. */
  readonly #looking = new WeakSet<ReadonlySet<OpenStream>>();
  readonly #kept = { bytes: 0, spaces: () => this.#spaces.size };
  readonly #waiting = { bytes: 0, most: mostWaiting, streams: 0 };
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
      'Time from the moment in which a change could be seen until its event was given to a connection',
    );
    metrics.gauge('sluice_live_streams', 'Live finds that are open', () => this.#places.count);
    metrics.counter('sluice_live_events_total', 'Events of live finds', () => this.#events);
    this.#parts = {
      snapshots: new Snapshots(deps),
      log,
      checks: this.#checks,
      spaceOf: (view) => this.#spaceOf(view.id),
      comeBackAfter: () => retryAfter + (this.#isDraining ? Math.floor(Math.random() * spread) : 0),
      onEvents: (events, seconds) => {
        this.#events += events;
        delays(seconds);
      },
    };
    this.#timer = setInterval(() => void this.#check(), checkEvery).unref();
  }

  /** Answers with the events of a find. @param space as the request sees it @param args.place of the last event that its client has */
  answer(
    args: Pick<OpenStream, 'request' | 'operation' | 'asked'> & {
      readonly space: RecordSpace;
      readonly place: string;
    },
  ): HttpResponse {
    const { request, operation, asked, space, place } = args;
    // as for any other request, its problems come first
    livePlan(asked, request, space);
    const stream = new LiveStream(this.#waiting);
    const open: OpenStream = { stream, request, operation, asked, view: null, isOfUser: false };
    const cut = new AbortController();
    const sender = space.bound?.user ? `user ${space.bound.user}` : addressOwner(request.address);
    const chunks = this.#run(open, { place, sender }, cut);
    const body = { chunks, cut: cut.signal, filler: comment };
    return { status: 200, headers: eventHeaders, body };
  }

  /** Sends all clients away, to come back at different times: other processes take them. */
  drain(): void {
    this.#isDraining = true;
    for (const alike of this.#streams.values())
      for (const { stream } of alike) stream.end('the server stops');
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.drain();
    for (const id of [...this.#spaces.keys()]) await this.#forget(id);
  }

  async *#run(
    open: OpenStream,
    { place, sender }: { readonly place: string; readonly sender: string },
    cut: AbortController,
  ): AsyncGenerator<Buffer> {
    const { request, stream } = open;
    let ending: NodeJS.Timeout | undefined;
    // as soon as it has a place, it may have to give it up
    stream.onEnd = () => {
      ending = setTimeout(() => cut.abort(), endFor).unref();
    };
    const leave = await this.#admit(open, sender);
    const onAbort = (): void => stream.end('the client has gone');
    request.signal.addEventListener('abort', onAbort, { once: true });
    try {
      yield* streamEvents(this.#parts, open, place);
    } finally {
      request.signal.removeEventListener('abort', onAbort);
      clearTimeout(ending);
      leave();
    }
  }

  /** Counts a stream. Throws 429. @param sender a user or an address: a publishable token is shared by many */
  async #admit(open: OpenStream, sender: string): Promise<() => void> {
    const { userId, tokenId, grants } = await this.#deps.authenticate(open.request, 'by rules');
    if (this.#isDraining) throw shuttingDown();
    const leave = this.#places.take([userId, tokenId, grants?.publishable ? sender : ''], open.stream);
    this.#waiting.streams = this.#places.count;
    const who = createHash('sha256').update(open.request.who).digest('base64');
    const alike = this.#streams.get(who) ?? new Set();
    this.#streams.set(who, alike.add(open));
    return () => {
      leave();
      this.#waiting.streams = this.#places.count;
      alike.delete(open);
      if (alike.size === 0) this.#streams.delete(who);
      open.stream.clear();
      open.request.over();
    };
  }

  async #spaceOf(spaceId: string): Promise<LiveSpace> {
    for (;;) {
      const listened = this.#listen(spaceId);
      const { space } = await listened;
      // it may have been left meanwhile, without a stream
      if (this.#spaces.get(spaceId) !== listened) continue;
      space.idleSince = performance.now();
      return space;
    }
  }

  #listen(spaceId: string): Promise<Listened> {
    const known = this.#spaces.get(spaceId);
    if (known !== undefined) return known;
    const { store, log } = this.#deps;
    const space = new LiveSpace({ singleWriter: store.singleWriter, kept: this.#kept, log });
    const listened = store
      .listen(spaceId, space, AbortSignal.timeout(listenTimeout))
      .then((stop) => ({ space, stop }));
    this.#spaces.set(spaceId, listened);
    listened.catch(() => this.#spaces.delete(spaceId));
    return listened;
  }

  async #forget(spaceId: string): Promise<void> {
    const listened = this.#spaces.get(spaceId);
    this.#spaces.delete(spaceId);
    const found = await listened?.catch(() => null);
    found?.stop();
    found?.space.reset();
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const now = performance.now();
      await forEachYielding([...this.#streams.values()], (alike) => this.#checkAlike(alike, now), never);
      await this.#leaveIdle(now);
    } finally {
      this.#isChecking = false;
    }
  }

  #checkAlike(alike: ReadonlySet<OpenStream>, now: number): void {
    for (const { stream } of alike) stream.tick(now);
    const [first] = alike;
    if (first === undefined || this.#looking.has(alike)) return;
    this.#looking.add(alike);
    const end = (reason: string): void => {
      for (const { stream } of alike) stream.end(reason);
    };
    this.#checks
      .view(first)
      .then(
        (view) => {
          // one without a view opens its space by itself
          for (const open of alike) if (open.view !== null && !isSame(open.view, view)) open.stream.reset();
        },
        (error: unknown) => {
          if (isPassing(error)) return;
          if (error instanceof ApiError) return end(error.code);
          this.#deps.log.error({ err: error }, 'whether streams are still allowed could not be seen');
          end('it failed');
        },
      )
      .finally(() => this.#looking.delete(alike));
  }

  async #leaveIdle(now: number): Promise<void> {
    const isCrowded = this.#spaces.size > this.#deps.config.liveMaxStreams;
    for (const [id, listened] of this.#spaces) {
      const { space } = (await listened.catch(() => null)) ?? {};
      const isIdle = space?.streams === 0 && now - space.idleSince > (isCrowded ? checkEvery : idleFor);
      if (isIdle) await this.#forget(id);
    }
  }
}
