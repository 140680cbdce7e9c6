import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KeyedHash } from '../common/auth/signing-keys.ts';
import type { Log } from '../common/log/log.ts';
import type { ObserveCall } from '../common/telemetry/observe-call.ts';
import { Backlog } from './backlog.ts';
import { type CallOutcome, callWebhook } from './call-webhook.ts';
import { CatchUp } from './catch-up.ts';
import type { Delivery, NewDelivery, Progress } from './delivery.ts';
import { DeliveryQueue, type Queued, type queueLimits } from './delivery-queue.ts';
import type { DeliveryTable } from './delivery-table.ts';
import type { FindAddress } from './network-guard.ts';

/** Milliseconds. */
export const deliveryLifetime = 86_400_000;
const firstDelay = 5_000;
const longestDelay = 3_600_000;
const sweepInterval = 30_000;
const usualSilence = 120_000;
/** Calls that begin in one turn of the event loop. */
const begunAtOnce = 16;
/** Memory for contents of new deliveries, so that a first attempt need not read them. Bytes. */
const freshContents = 32 * 1024 ** 2;

/** Exponential backoff: doubles from 5 s up to an hour, with jitter down to half against bursts. Milliseconds. */
export function retryDelay(attempts: number, random = Math.random): number {
  const delay = Math.min(longestDelay, firstDelay * 2 ** Math.min(attempts - 1, 20));
  return Math.round(delay * (0.5 + random() / 2));
}

export interface DeliverySenderDeps {
  readonly table: DeliveryTable;
  readonly findAddress: FindAddress;
  readonly secretOf: KeyedHash;
  /** Whether no other process uses this store. */
  readonly alone: boolean;
  /** Bytes of contents that an account may have waiting. */
  readonly contentShare: number;
  readonly log: Pick<Log, 'warn'>;
  readonly observeCall: ObserveCall;
  readonly delayAfter?: ((attempts: number) => number) | undefined;
  /** Milliseconds of silence after which a process is taken for dead. */
  readonly silence?: number | undefined;
  readonly limits?: Partial<typeof queueLimits> | undefined;
}

/** Sends deliveries until they arrive or expire. */
export class DeliverySender {
  /** Id of this process in its deliveries. */
  readonly process = randomUUID();
  readonly backlog: Backlog;
  readonly #deps: DeliverySenderDeps;
  readonly #silence: number;
  readonly #queue: DeliveryQueue;
  readonly #catchUp: CatchUp;
  readonly #fresh = new LRUCache<string, string>({ maxSize: freshContents, sizeCalculation: sizeOf });
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #pumping = false;
  #sweeper: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | null = null;
  /** Silent processes whose deliveries were all taken over. null: none were taken over yet. */
  #silent: ReadonlySet<string> | null = null;

  constructor(deps: DeliverySenderDeps) {
    this.#deps = deps;
    this.#silence = deps.silence ?? usualSilence;
    this.#queue = new DeliveryQueue(deps.limits);
    this.backlog = new Backlog(deps.contentShare);
    const { process, backlog } = this;
    this.#catchUp = new CatchUp({
      ...{ ...deps, process, backlog, queue: this.#queue, stopped: this.#stop.signal },
      onFetched: () => this.#pumpSoon(),
    });
  }

  /** Takes deliveries, with their contents, that are in the store and in the backlog already. */
  add(list: readonly NewDelivery[]): void {
    for (const [delivery, content] of list) {
      if (this.#enqueue(delivery)) this.#fresh.set(delivery.id, content);
    }
    this.#pumpSoon();
  }

  /** Whether memory has room for one more delivery of an account. */
  hasRoom(ownerId: string): boolean {
    return this.#queue.roomOf(ownerId) > 0;
  }

  /** Sends an ended delivery again, even before others that wait in the store. */
  addAgain(delivery: Delivery): void {
    if (!this.#queue.add(delivery)) this.#catchUp.fallBehind(delivery);
    this.#pumpSoon();
  }

  /** Looks for deliveries that an earlier process, or one that died, did not send. */
  async start(): Promise<void> {
    await this.#sweep();
    this.#sweeper = setInterval(() => void this.#sweep(), sweepInterval);
    this.#sweeper.unref();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the process stops'));
    clearTimeout(this.#timer);
    clearInterval(this.#sweeper);
    await Promise.allSettled([...this.#running, this.#sweeping]);
    await this.#catchUp.settled();
  }

  /** Deliveries in memory must be older than those in the store alone, or records would lose their order. */
  #enqueue(delivery: Delivery): boolean {
    if (!this.backlog.behind.has(delivery.ownerId) && this.#queue.add(delivery)) return true;
    this.#catchUp.fallBehind(delivery);
    return false;
  }

  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#stop.signal.aborted) return;
    let begun = 0;
    for (let next = this.#queue.take(Date.now()); next !== null; next = this.#queue.take(Date.now())) {
      this.#run(this.#send(next));
      // all other work that is ready runs first
      if (++begun === begunAtOnce) {
        this.#pumpSoon();
        return;
      }
    }
    const { nextAt } = this.#queue;
    if (nextAt === null) return;
    this.#timer = setTimeout(() => this.#pump(), Math.max(0, nextAt - Date.now()));
    this.#timer.unref();
  }

  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #send(queued: Queued): Promise<void> {
    const { delivery } = queued;
    const { ownerId, id, bytes } = delivery;
    const outcome = await this.#call(delivery);
    this.#fresh.delete(id);
    // it may have arrived or not: the next process sends it again
    if (this.#stop.signal.aborted && !outcome.delivered) return;
    const progress = this.#after(queued, outcome);
    const isOver = progress.state !== 'pending';
    const drops = isOver && !this.backlog.keeps(ownerId, bytes);
    // a delivery without its note is sent again after a restart
    await this.#deps.table.note(delivery, progress, drops).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'the outcome of a webhook could not be stored');
    });
    queued.attempts = progress.attempts;
    this.#queue.end(queued, isOver ? null : progress.nextAt.getTime());
    if (isOver) {
      this.backlog.remove(ownerId, bytes);
      this.#catchUp.ended(delivery);
    }
    this.#catchUp.ask(ownerId);
    this.#pumpSoon();
  }

  async #call(delivery: Delivery): Promise<CallOutcome> {
    const { findAddress, secretOf, observeCall } = this.#deps;
    const { signal } = this.#stop;
    const { id, url, ownerId } = delivery;
    const undelivered: CallOutcome = { delivered: false, status: 0, problem: '' };
    const secret = await secretOf(ownerId).catch(() => null);
    if (secret === null) return { ...undelivered, problem: 'the key of the store can not be read' };
    let outcome = undelivered;
    const content = (): Promise<string> => this.#contentOf(delivery);
    // a refusal is counted as an error, though it is no exception
    const work = async (): Promise<void> => {
      outcome = await callWebhook({ id, url, content, secret }, findAddress, signal);
      if (!outcome.delivered) throw new Error(outcome.problem);
    };
    await observeCall('webhook', 'POST', work, { signal }).catch(() => {});
    return outcome;
  }

  async #contentOf(delivery: Delivery): Promise<string> {
    const fresh = this.#fresh.get(delivery.id);
    if (fresh !== undefined) return fresh;
    const content = await this.#deps.table.content(delivery).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'the content of a webhook could not be read');
      throw new Error('the content could not be read');
    });
    if (content === null) throw new Error('the content is kept no longer');
    return content;
  }

  #after({ delivery, attempts: before }: Queued, outcome: CallOutcome): Progress {
    const { delayAfter = retryDelay } = this.#deps;
    const { process } = this;
    const { expiresAt } = delivery;
    const { delivered, ...answer } = outcome;
    const updatedAt = new Date();
    const attempts = before + 1;
    const nextAt = new Date(updatedAt.getTime() + delayAfter(attempts));
    const failed = nextAt > expiresAt ? 'failed' : 'pending';
    return {
      process,
      state: delivered ? 'delivered' : failed,
      attempts,
      ...answer,
      updatedAt,
      nextAt,
      expiresAt,
    };
  }

  #sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepNow().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async #sweepNow(): Promise<void> {
    const { table, alone, log } = this.#deps;
    const { process } = this;
    const since = alone ? null : new Date(Date.now() - this.#silence);
    try {
      if (since !== null) await table.sayAlive(process);
      // a process that is alone takes over from earlier processes only
      const silent = since === null ? [] : await table.silent(since);
      const known = this.#silent;
      const adopts = known === null || silent.some((other) => !known.has(other));
      if (adopts) await table.adopt(process, since);
      const adopted = adopts ? await table.waitingOf(process) : [];
      for (const { ownerId, count, bytes } of adopted) this.backlog.found(ownerId, { count, bytes });
      this.#silent = new Set(silent);
    } catch (error) {
      if (!this.#stop.signal.aborted) log.warn({ err: error }, 'webhooks that wait could not be looked for');
    }
    for (const ownerId of this.backlog.behind.keys()) this.#catchUp.ask(ownerId);
  }
}

/** A content may have two bytes a character. */
function sizeOf(content: string): number {
  return 2 * content.length + 200;
}
