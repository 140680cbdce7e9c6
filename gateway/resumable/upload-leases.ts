import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { redisScript } from '#coordination/redis/redis-connection.ts';
import { unlessAway } from '#coordination/redis/without-redis.ts';
import { overloaded, unavailable, uploadConflict } from '#kernel/errors/catalogue.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { UploadState } from './upload-state.ts';

/** Lifetime of a lease without renewal. Milliseconds. */
const lifetime = 5_000;
const renewEvery = 1_500;
/** How long a request waits for the holder of a lease. Milliseconds. */
const patience = 10_000;
const pollEvery = 100;
/** Time limit for saving a state. Milliseconds. */
const saveTimeout = 60_000;
/** The same where other gateways wait for the lease: less than its lifetime. Milliseconds. */
const sharedSaveTimeout = 4_000;
/** Limits of the states cached for the next request; size in parts. Some 10 MB. */
const stateCacheLimits = { max: 5_000, maxSize: 50_000, ttl: lifetime };

/** Takes over the lease, unless its holder has pinned it. */
const takeScript = redisScript(`
local holder = redis.call('GET', KEYS[1])
if holder and string.sub(holder, 1, 1) == '!' then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return holder or ''
`);
const renewScript = redisScript(`
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] and holder ~= '!' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`);
const releaseScript = redisScript(`
if redis.call('GET', KEYS[1]) ~= '!' .. ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);

/** The lease of an upload among gateways. Null answers count as success. */
interface SharedLease {
  readonly id: string | undefined;
  readonly saveTimeout: number;
  /** Milliseconds; infinite: no renewal. */
  readonly renewEvery: number;
  /** @returns the id of the last holder; null: unknown */
  take(): Promise<unknown>;
  /** @param pinned nobody may take it over @returns whether nobody has */
  renew(pinned: boolean): Promise<boolean>;
  release(): void;
}

/** Makes the lease of an upload. */
export type SharedLeases = (upload: string) => SharedLease;

const fixedLease = (id: undefined | null): SharedLease => ({
  id: undefined,
  saveTimeout,
  renewEvery: Number.POSITIVE_INFINITY,
  take: async () => id,
  renew: async () => true,
  release() {},
});
/** For a single gateway. */
export const localLeases: SharedLeases = () => fixedLease(undefined);
/** For gateways without Redis, which can't coordinate. */
export const uncoordinatedLeases: SharedLeases = () => fixedLease(null);
/** For gateways that share a Redis. */
export const redisLeases: (deps: { redis: RedisConnection; log: Log }) => SharedLeases = (deps) => (upload) =>
  new RedisLease(deps, upload);

/** The right to write to an upload, until the next request takes over. */
export class UploadLease {
  readonly over: Promise<void>;
  /** The stored state, if the previous request ran in this process and no other gateway has written since. */
  stateBefore: UploadState | undefined;
  /** The stored state after this request, cached for the next one. */
  stateAfter: UploadState | undefined;
  readonly #shared: SharedLease;
  readonly #onRelease: () => void;
  #timer: NodeJS.Timeout | undefined;
  #yieldRequested = false;
  #onYield: (() => void) | null = null;
  #lost = false;
  #pinned = false;
  #saving = false;
  #resolve: () => void = () => {};

  /** @internal of UploadLeases */
  constructor(shared: SharedLease, onRelease: () => void) {
    this.#shared = shared;
    this.#onRelease = onRelease;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Starts renewals. Not earlier: a renewal before the lease is taken looks like a loss. @internal of UploadLeases */
  begin(): void {
    const { renewEvery } = this.#shared;
    if (Number.isFinite(renewEvery)) this.#timer = setInterval(() => void this.maySave(), renewEvery).unref();
  }

  /** Called at most once, when another request takes over; at once if one already has. */
  set onYield(listener: () => void) {
    this.#onYield = listener;
    if (this.#yieldRequested) listener();
  }

  /** Saves something, unless another gateway has taken over. None can during the save, which would undo its writes. */
  async save<Saved>(work: (signal: AbortSignal) => Promise<Saved>): Promise<Saved> {
    let saved: Saved;
    const signal = AbortSignal.timeout(this.#shared.saveTimeout);
    this.#saving = true;
    try {
      if (!(await this.maySave())) throw takenOver();
      saved = await work(signal);
    } catch (error) {
      throw signal.aborted
        ? unavailable('The object store did not save the state of the upload', error)
        : error;
    } finally {
      this.#saving = false;
    }
    // a process that was suspended has lost the lease
    if (!(await this.maySave())) throw takenOver();
    return saved;
  }

  /** Whether no other gateway has taken over. A request in this process waits until this one ends. */
  async maySave(): Promise<boolean> {
    if (!this.#lost && !(await this.#shared.renew(this.#pinned || this.#saving))) {
      this.#lost = true;
      this.#pinned = false;
      this.requestYield();
    }
    return !this.#lost;
  }

  /** From now on nobody can take over. Returns false if somebody has. */
  async pin(): Promise<boolean> {
    if (this.#yieldRequested) return false;
    this.#pinned = true;
    return this.maySave();
  }

  /** Asks the holder to stop; ignored once the lease is pinned, because the upload is being completed. */
  requestYield(): void {
    if (this.#yieldRequested || this.#pinned) return;
    this.#yieldRequested = true;
    this.#onYield?.();
  }

  release(): void {
    clearInterval(this.#timer);
    this.#shared.release();
    this.#onRelease();
    this.#resolve();
  }
}

/**
 * Leases that make the newest request the only writer of an upload. Within a process the previous writer has ended when
 * the next begins; a writer in another gateway notices before it saves anything. While Redis is down, gateways can't
 * coordinate: then parts at fixed offsets, and the checksum of the whole, keep the bytes correct.
 */
export class UploadLeases {
  readonly #shared: SharedLeases;
  readonly #leases = new Map<string, UploadLease>();
  /** Stored states by upload, each with the holder of the lease at that time. */
  readonly #states = new LRUCache<
    string,
    { readonly holder: string | undefined; readonly state: UploadState }
  >({
    ...stateCacheLimits,
    sizeCalculation: ({ state: { written, partBytes } }) => 1 + Math.ceil((written?.size ?? 0) / partBytes),
  });

  constructor(shared: SharedLeases) {
    this.#shared = shared;
  }

  /** Throws 503 when the holder does not release the lease. */
  async take(upload: string): Promise<UploadLease> {
    for (let holder = this.#leases.get(upload); holder !== undefined; holder = this.#leases.get(upload)) {
      holder.requestYield();
      if (!(await settledWithin(holder.over, patience))) throw heldByAnother();
    }
    const shared = this.#shared(upload);
    const lease = new UploadLease(shared, () => {
      if (this.#leases.get(upload) === lease) this.#leases.delete(upload);
      if (lease.stateAfter !== undefined)
        this.#states.set(upload, { holder: shared.id, state: lease.stateAfter });
    });
    this.#leases.set(upload, lease);
    const cached = this.#states.get(upload);
    this.#states.delete(upload);
    try {
      const before = await shared.take();
      lease.begin();
      if (cached !== undefined && cached.holder === before) lease.stateBefore = cached.state;
      return lease;
    } catch (error) {
      lease.release();
      throw error;
    }
  }
}

class RedisLease implements SharedLease {
  readonly #redis: RedisConnection;
  readonly #key: string;
  readonly #log: Log;
  readonly id: string = randomUUID();
  readonly saveTimeout = sharedSaveTimeout;
  readonly renewEvery = renewEvery;
  #isPinned = false;

  constructor({ redis, log }: { redis: RedisConnection; log: Log }, upload: string) {
    this.#redis = redis;
    this.#key = `sluice:upload:1:${upload}`;
    this.#log = log;
  }

  async take(): Promise<unknown> {
    const until = performance.now() + patience;
    for (;;) {
      const before = await this.#run(takeScript, [this.id, lifetime]);
      if (before !== 0) return before;
      if (performance.now() > until) throw heldByAnother();
      await sleep(pollEvery);
    }
  }

  async renew(pinned: boolean): Promise<boolean> {
    this.#isPinned = pinned;
    return (await this.#run(renewScript, [this.id, pinned ? `!${this.id}` : this.id, lifetime])) !== 0;
  }

  /**
   * Only a pinned lease has to be deleted. Any other can be taken over, and its value tells the next holder about this
   * one.
   */
  release(): void {
    if (this.#isPinned) void this.#run(releaseScript, [this.id]);
  }

  #run(script: ReturnType<typeof redisScript>, args: (string | number)[]): Promise<unknown> {
    return unlessAway(this.#redis.run(script, [this.#key], args), (err) =>
      this.#log.error({ err }, 'the lease of an upload failed'),
    );
  }
}

export const takenOver = () => uploadConflict('Another request continued the upload');
const heldByAnother = () => overloaded('another request is completing this upload');
