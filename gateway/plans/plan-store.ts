import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import type { Log } from '#kernel/log/log.ts';
import { readFileKey } from '#objects/file-key.ts';
import { keysAtOnce, type ObjectStore } from '#objects/object-store.ts';
import {
  closedKey,
  type DirectPlan,
  isPlanned,
  lateBytes,
  type PlanAddress,
  partCount,
  partKey,
  planKey,
  plannedAtOf,
  plansPrefix,
  readPlanKey,
} from './direct-plan.ts';

type Store = Pick<ObjectStore, 'create' | 'readWhole' | 'head' | 'deleteAll' | 'list'>;

/** A plan of 10,000 parts with two digests each is half a megabyte. Bytes. */
const largestPlan = 2 * 1024 * 1024;
const requestsAtOnce = 16;
const description = { contentType: 'application/octet-stream', metadata: {}, replaces: true } as const;
/** Plans that end together are removed together. Milliseconds, and keys. */
const removalWait = 500;
const mostWaiting = 100_000;
const removalTimeout = 30_000;
/** Characters of the plans that a single gateway keeps in memory; most have some 700. */
const keptCharacters = 16 * 1024 * 1024;

/** Keeps plans as objects in the store of their bytes, so that every gateway with the bytes has the plan. */
export class PlanStore {
  readonly #store: Store;
  readonly #deploymentId: string;
  readonly #expireAfter: number;
  readonly #log: Pick<Log, 'warn'>;
  /** Plans that have not ended, by key; null: other gateways may end them. */
  readonly #kept: LRUCache<string, { readonly plan: DirectPlan; readonly characters: number }> | null;
  /** Keys of ended plans, until they are removed. */
  readonly #ended = new Set<string>();
  #removing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param args.expireAfter milliseconds after which a plan expires
   * @param args.singleGateway no other process makes or ends plans
   */
  constructor(args: {
    store: Store;
    deploymentId: string;
    expireAfter: number;
    singleGateway: boolean;
    log: Pick<Log, 'warn'>;
  }) {
    this.#store = args.store;
    this.#deploymentId = args.deploymentId;
    this.#expireAfter = args.expireAfter;
    this.#log = args.log;
    this.#kept = args.singleGateway
      ? new LRUCache({ maxSize: keptCharacters, sizeCalculation: ({ characters }) => characters })
      : null;
  }

  addressOf({ ownerId, projectSlug, name }: Omit<PlanAddress, 'deploymentId'>): PlanAddress {
    return { deploymentId: this.#deploymentId, ownerId, projectSlug, name };
  }

  /** The plans of an account that have not ended. */
  async plansOf(ownerId: string, signal: AbortSignal): Promise<PlanAddress[]> {
    const plans: PlanAddress[] = [];
    for await (const { key } of this.#store.list(`${plansPrefix(this.#deploymentId)}${ownerId}/`, signal)) {
      const found = readPlanKey(key);
      if (found?.is === 'plan' && !this.#ended.has(key)) plans.push(found);
    }
    return plans;
  }

  /** Planned bytes of an account, wherever they are by now. */
  async bytesOf(ownerId: string, signal: AbortSignal): Promise<number> {
    const plans = await this.plansOf(ownerId, signal);
    let bytes = 0;
    while (plans.length > 0) {
      const some = plans.splice(-requestsAtOnce).map((plan) => this.load(plan, signal));
      for (const plan of await Promise.all(some)) bytes += plan?.size ?? 0;
    }
    return bytes;
  }

  /** Null: there is no such plan, or it has ended. */
  async load(address: PlanAddress, signal: AbortSignal): Promise<DirectPlan | null> {
    const key = planKey(address);
    const kept = this.#kept?.get(key);
    if (kept !== undefined) return kept.plan;
    const bytes = await this.#store.readWhole(key, largestPlan, signal);
    return bytes && (JSON.parse(bytes.toString('utf8')) as DirectPlan);
  }

  async save(plan: DirectPlan, signal: AbortSignal): Promise<void> {
    const key = planKey(this.addressOf(plan.file));
    const text = JSON.stringify(plan);
    // before it is stored: who closes it meanwhile finds it here
    this.#kept?.set(key, { plan, characters: text.length });
    try {
      await this.#put(key, text, signal);
    } catch (error) {
      this.#kept?.delete(key);
      throw error;
    }
  }

  /**
   * Files are about to be deleted: neither bytes that still arrive for them nor completions of their plans may bring them
   * back.
   */
  async closeFor(files: readonly Omit<PlanAddress, 'deploymentId'>[], signal: AbortSignal): Promise<void> {
    const since = Date.now() - this.#expireAfter - lateBytes;
    const young = files.filter(({ name }) => isPlanned(name) && plannedAtOf(name) > since);
    await this.closeAll(
      young.map((file) => this.addressOf(file)),
      signal,
    );
  }

  /** Whether an object with this key is planned. */
  async has(objectKey: string, signal: AbortSignal): Promise<boolean> {
    const address = plannedAddress(objectKey);
    return address !== null && (await this.#store.head(planKey(address), signal)) !== null;
  }

  /** Whether a plan, or one that has ended a moment ago, decides what becomes of an object without a row. */
  async decidesOn(objectKey: string, signal: AbortSignal): Promise<boolean> {
    const address = plannedAddress(objectKey);
    if (address === null) return false;
    // in this order: a plan is closed before it is removed
    if ((await this.#store.head(planKey(address), signal)) !== null) return true;
    return (await this.#store.head(closedKey(address), signal)) !== null;
  }

  /** Ends a plan whose addresses may still be good: the janitor removes what arrives by them. */
  close(address: PlanAddress, signal: AbortSignal): Promise<void> {
    return this.closeAll([address], signal);
  }

  async closeAll(addresses: readonly PlanAddress[], signal: AbortSignal): Promise<void> {
    if (addresses.length === 0) return;
    for (const address of addresses) this.#kept?.delete(planKey(address));
    // the marks go first: without them, late bytes would become files
    await forEachAtOnce(addresses, requestsAtOnce, (address) => this.#put(closedKey(address), '{}', signal));
    const left = await this.#store.deleteAll(addresses.map(planKey), signal);
    if (left.length > 0) throw new StoreUnavailable(`${left.length} plans of uploads could not be removed`);
  }

  /** Removes a plan soon, with its parts at a store that clients do not reach. A crash leaves them to the janitor. */
  end(plan: DirectPlan, hasParts: boolean): void {
    const address = this.addressOf(plan.file);
    const key = planKey(address);
    this.#kept?.delete(key);
    const parts = hasParts ? partCount(plan) : 0;
    if (this.#ended.size + parts >= mostWaiting) return;
    for (let number = 1; number <= parts; number++) this.#ended.add(partKey(address, number));
    this.#ended.add(key);
    this.#timer ??= setTimeout(() => void this.#removeEnded(), removalWait).unref();
  }

  /** Removes what is left of plans that have ended. Never rejects. */
  async settle(): Promise<void> {
    await this.#removeEnded();
    await this.#removing;
  }

  #removeEnded(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#removing ??= this.#remove().finally(() => {
      this.#removing = null;
    });
    return this.#removing;
  }

  async #remove(): Promise<void> {
    while (this.#ended.size > 0) {
      const keys = firstOf(this.#ended, keysAtOnce);
      await this.#store.deleteAll(keys, AbortSignal.timeout(removalTimeout)).catch((err: unknown) => {
        this.#log.warn({ err, keys: keys.length }, 'ended plans of uploads are left to the janitor');
      });
      for (const key of keys) this.#ended.delete(key);
    }
  }

  async #put(key: string, text: string, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(text);
    const writer = await this.#store.create(key, description, signal);
    await writer.complete({ chunks: [bytes], size: bytes.byteLength, crc32: crc32(bytes) });
  }
}

function firstOf(keys: Iterable<string>, count: number): string[] {
  const first: string[] = [];
  for (const key of keys) {
    if (first.length === count) break;
    first.push(key);
  }
  return first;
}

/** Null: it is no object that clients send by themselves. */
function plannedAddress(objectKey: string): PlanAddress | null {
  const address = readFileKey(objectKey);
  return address !== null && isPlanned(address.name) ? address : null;
}
