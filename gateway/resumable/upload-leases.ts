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
/** Time that a request waits for the holder of a lease. Milliseconds. */
const patience = 10_000;
const pollEvery = 100;
/** Time limit of the store for saving a state. Milliseconds. */
const saveTimeout = 60_000;
/** Less than the lifetime of a lease, where other gateways wait for it. */
const sharedSaveTimeout = 4_000;
/** States that are kept for the next request, and the parts that they list: some 10 MB. */
const leftStates = { max: 5_000, maxSize: 50_000, ttl: lifetime };

/** Takes the lease from its holder, or its last one, unless that one completes the upload. */
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

/** The lease of an upload among gateways. Null answers count as yes. */
interface SharedLease {
  readonly id: string | undefined;
  readonly saveTimeout: number;
  /** Milliseconds; infinite: it needs no renewal. */
  readonly renewEvery: number;
  /** @returns the id of the last holder; null: that is not known */
  take(): Promise<unknown>;
  /** @param keeps nobody may take it over @returns whether nobody has */
  renew(keeps: boolean): Promise<boolean>;
  release(): void;
}

/** Makes the lease of an upload, by the means that its gateways share. */
export type SharedLeases = (upload: string) => SharedLease;

const lastHolderIs = (id: undefined | null): SharedLease => ({
  id: undefined,
  saveTimeout,
  renewEvery: Number.POSITIVE_INFINITY,
  take: async () => id,
  renew: async () => true,
  release() {},
});
/** For a gateway that is alone. */
export const aloneLeases: SharedLeases = () => lastHolderIs(undefined);
/** For gateways that know nothing about each other. */
export const unknownLeases: SharedLeases = () => lastHolderIs(null);
/** For gateways that share a Redis. */
export const redisLeases: (deps: { redis: RedisConnection; log: Log }) => SharedLeases = (deps) => (upload) =>
  new RedisLease(deps, upload);

/** A lease to write to an upload, which the next request takes over. */
export class UploadLease {
  readonly over: Promise<void>;
  /** The stored state, where the request before ran in this process and no other gateway has written since. */
  found: UploadState | undefined;
  /** The stored state after this request, for the next one to find. */
  left: UploadState | undefined;
  readonly #shared: SharedLease;
  readonly #onRelease: () => void;
  #timer: NodeJS.Timeout | undefined;
  #taken = false;
  #onTaken: (() => void) | null = null;
  #lost = false;
  #keeps = false;
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

  /** Renews it from now on: while a request still waits for it, it would seem to be lost. @internal of UploadLeases */
  begin(): void {
    const { renewEvery } = this.#shared;
    if (Number.isFinite(renewEvery)) this.#timer = setInterval(() => void this.maySave(), renewEvery).unref();
  }

  /** Another request takes over: called at most once, and immediately if one already has. */
  set onTaken(listener: () => void) {
    this.#onTaken = listener;
    if (this.#taken) listener();
  }

  /** Saves something, unless another gateway has taken over. None does meanwhile: a late write would undo its own. */
  async save<Saved>(work: (signal: AbortSignal) => Promise<Saved>): Promise<Saved> {
    let saved: Saved;
    const signal = AbortSignal.timeout(this.#shared.saveTimeout);
    this.#saving = true;
    try {
      if (!(await this.maySave())) throw takenOver();
      saved = await work(signal);
    } catch (error) {
      throw signal.aborted ? unavailable('The object store does not take the upload’s state', error) : error;
    } finally {
      this.#saving = false;
    }
    // a process that stood still has lost the lease
    if (!(await this.maySave())) throw takenOver();
    return saved;
  }

  /** Whether no other gateway has taken over. A request in this process waits for the end. */
  async maySave(): Promise<boolean> {
    if (!this.#lost && !(await this.#shared.renew(this.#keeps || this.#saving))) {
      this.#lost = true;
      this.#keeps = false;
      this.take();
    }
    return !this.#lost;
  }

  /** From now on nobody takes it over. Returns false when somebody has. */
  async keep(): Promise<boolean> {
    if (this.#taken) return false;
    this.#keeps = true;
    return this.maySave();
  }

  /** Asks its holder to end, unless that one keeps it. */
  take(): void {
    if (this.#taken || this.#keeps) return;
    this.#taken = true;
    this.#onTaken?.();
  }

  release(): void {
    clearInterval(this.#timer);
    this.#shared.release();
    this.#onRelease();
    this.#resolve();
  }
}

/**
 * Leases that leave an upload one writer: the newest. Within a process the one before has ended when the next begins; one
 * in another gateway notices before it saves anything. While Redis is away gateways do not know about each other: then
 * the parts, which lie at the same places in every gateway, and the checksum of the whole keep the bytes right.
 */
export class UploadLeases {
  readonly #shared: SharedLeases;
  readonly #held = new Map<string, UploadLease>();
  /** States by upload, each with the holder of its lease at that time. */
  readonly #left = new LRUCache<string, { readonly holder: string | undefined; readonly state: UploadState }>(
    {
      ...leftStates,
      sizeCalculation: ({ state: { written, partBytes } }) => 1 + Math.ceil((written?.size ?? 0) / partBytes),
    },
  );

  constructor(shared: SharedLeases) {
    this.#shared = shared;
  }

  /** Throws 503 when its holder does not release it. */
  async take(upload: string): Promise<UploadLease> {
    for (let holder = this.#held.get(upload); holder !== undefined; holder = this.#held.get(upload)) {
      holder.take();
      if (!(await settledWithin(holder.over, patience))) throw heldByAnother();
    }
    const shared = this.#shared(upload);
    const lease = new UploadLease(shared, () => {
      if (this.#held.get(upload) === lease) this.#held.delete(upload);
      if (lease.left !== undefined) this.#left.set(upload, { holder: shared.id, state: lease.left });
    });
    this.#held.set(upload, lease);
    const left = this.#left.get(upload);
    this.#left.delete(upload);
    try {
      const before = await shared.take();
      lease.begin();
      if (left !== undefined && left.holder === before) lease.found = left.state;
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
  #kept = false;

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

  async renew(keeps: boolean): Promise<boolean> {
    this.#kept = keeps;
    return (await this.#run(renewScript, [this.id, keeps ? `!${this.id}` : this.id, lifetime])) !== 0;
  }

  /** A lease that is not kept can be taken anyway, and its value shows whether it was. */
  release(): void {
    if (this.#kept) void this.#run(releaseScript, [this.id]);
  }

  #run(script: ReturnType<typeof redisScript>, args: (string | number)[]): Promise<unknown> {
    return unlessAway(this.#redis.run(script, [this.#key], args), (err) =>
      this.#log.error({ err }, 'the lease of an upload failed'),
    );
  }
}

export const takenOver = () => uploadConflict('Another request went on with the upload');
const heldByAnother = () => overloaded('another request completes this upload');
