import { randomUUID } from 'node:crypto';
import type { KeyedHash } from '../../common/auth/keyed-hash.ts';
import { type ObserveCall, unobserved } from '../../common/calls/observe-call.ts';
import type { Log } from '../../common/log/log.ts';
import { callWebhook } from './call-webhook.ts';
import type { FindAddress } from './network-guard.ts';
import type { Deliveries, Delivery } from './webhook-deliveries.ts';
import { type Queued, WebhookQueue } from './webhook-queue.ts';

/** Milliseconds. */
const day = 86_400_000;
export const deliveryLifetime = day;
const firstDelay = 5_000;
const longestDelay = 3_600_000;
const sweepInterval = 30_000;
const usualSilence = 120_000;
/** A delivery has up to a megabyte. */
const page = 100;
/** Deliveries of an account that may wait in this process. */
const mostWaiting = 10_000;

/** Doubles from 5 s up to an hour; between half of that and all of it, so that many do not come at once. */
export function retryDelay(attempts: number, random = Math.random): number {
  const delay = Math.min(longestDelay, firstDelay * 2 ** Math.min(attempts - 1, 20));
  return Math.round(delay * (0.5 + random() / 2));
}

type CallOutcome = Awaited<ReturnType<typeof callWebhook>>;

const undelivered: CallOutcome = { delivered: false, status: 0, problem: '' };

export interface WebhookSenderDeps {
  readonly deliveries: Deliveries;
  readonly findAddress: FindAddress;
  readonly secretOf: KeyedHash;
  /** Whether no other process has this store. */
  readonly alone: boolean;
  readonly log?: Pick<Log, 'warn'> | undefined;
  readonly observeCall?: ObserveCall | undefined;
  readonly delayAfter?: ((attempts: number) => number) | undefined;
  /** Milliseconds after which a process that says nothing is taken for dead. */
  readonly silence?: number | undefined;
}

/** Sends deliveries from the queue in the store until they arrive or expire. */
export class WebhookSender {
  /** Of this process, as deliveries name it. */
  readonly process = randomUUID();
  readonly #deps: WebhookSenderDeps;
  readonly #queue = new WebhookQueue();
  /** Deliveries of each account that wait. */
  readonly #waiting = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | null = null;
  /** There may be some in the store that memory had no room for. */
  #behind = false;

  constructor(deps: WebhookSenderDeps) {
    this.#deps = deps;
  }

  /** Whether an account may have more deliveries waiting. */
  hasRoom(ownerId: string, more: number): boolean {
    return (this.#waiting.get(ownerId) ?? 0) + more <= mostWaiting;
  }

  /** Takes deliveries that are in the store. */
  add(list: readonly Delivery[]): void {
    for (const { ownerId } of list) this.#count(ownerId, 1);
    this.#enqueue(list);
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
  }

  #count(ownerId: string, change: number): void {
    const left = (this.#waiting.get(ownerId) ?? 0) + change;
    if (left > 0) this.#waiting.set(ownerId, left);
    else this.#waiting.delete(ownerId);
  }

  #enqueue(list: readonly Delivery[]): void {
    for (const delivery of list) {
      // what is in memory must be older than what is not, or records would lose their order
      this.#behind ||= !this.#queue.hasRoom;
      if (!this.#behind) this.#queue.add(delivery);
    }
    setImmediate(() => this.#pump());
  }

  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#stop.signal.aborted) return;
    const { ready, nextAt } = this.#queue.take(Date.now());
    for (const queued of ready) {
      const sending = this.#send(queued).finally(() => {
        this.#running.delete(sending);
        if (this.#behind && this.#queue.size === 0) void this.#sweep();
        setImmediate(() => this.#pump());
      });
      this.#running.add(sending);
    }
    if (nextAt === null) return;
    this.#timer = setTimeout(() => this.#pump(), Math.max(0, nextAt - Date.now()));
    this.#timer.unref();
  }

  async #send(queued: Queued): Promise<void> {
    const { delivery } = queued;
    const outcome = await this.#call(delivery);
    // nobody knows whether it arrived: the next process sends it again
    if (this.#stop.signal.aborted && !outcome.delivered) return this.#queue.end(queued, delivery);
    const after = this.#after(delivery, outcome);
    // what is not noted is sent again after a restart
    await this.#deps.deliveries.store([after]).catch((error: unknown) => {
      this.#deps.log?.warn({ err: error }, 'the outcome of a webhook could not be stored');
    });
    this.#queue.end(queued, after);
    if (after.state !== 'pending') this.#count(after.ownerId, -1);
  }

  async #call({ id, url, body, ownerId }: Delivery): Promise<CallOutcome> {
    const { findAddress, secretOf, observeCall = unobserved } = this.#deps;
    const { signal } = this.#stop;
    const secret = await secretOf(ownerId).catch(() => null);
    if (secret === null) return { ...undelivered, problem: 'the key of the store can not be read' };
    let outcome = undelivered;
    // a refusal is counted as an error, though it is no exception
    const work = async (): Promise<void> => {
      outcome = await callWebhook({ id, url, body, secret }, findAddress, signal);
      if (!outcome.delivered) throw new Error(outcome.problem);
    };
    await observeCall('webhook', 'POST', work, { signal }).catch(() => {});
    return outcome;
  }

  #after(delivery: Delivery, { delivered, status, problem }: CallOutcome): Delivery {
    const { delayAfter = retryDelay } = this.#deps;
    const updatedAt = new Date();
    const attempts = delivery.attempts + 1;
    const nextAt = new Date(updatedAt.getTime() + delayAfter(attempts));
    const failed = nextAt > delivery.expiresAt ? 'failed' : 'pending';
    return {
      ...delivery,
      state: delivered ? 'delivered' : failed,
      ...{ attempts, status, problem, updatedAt, nextAt },
      version: delivery.version + 1,
    };
  }

  #sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepNow().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async #sweepNow(): Promise<void> {
    const { deliveries, alone, silence = usualSilence, log } = this.#deps;
    try {
      if (!alone && this.#queue.size > 0) await deliveries.sayAlive(this.process);
      if (this.#behind && this.#queue.size < page) {
        const limit = page + this.#queue.size;
        // what is stored from now on goes to memory as well
        this.#behind = false;
        const next = await deliveries.pendingOf(this.process, limit);
        this.#enqueue(next);
        this.#behind ||= next.length === limit;
      }
      await this.#adopt(alone ? null : new Date(Date.now() - silence));
    } catch (error) {
      if (!this.#stop.signal.aborted) log?.warn({ err: error }, 'webhooks that wait could not be looked for');
    }
  }

  /** Takes over what nobody sends. */
  async #adopt(since: Date | null): Promise<void> {
    const { deliveries } = this.#deps;
    const { process } = this;
    while (this.#queue.hasRoom) {
      const orphans = await deliveries.orphans(process, since, page);
      if (orphans.length === 0) return;
      const updatedAt = new Date();
      const own = orphans.map((delivery) => ({
        ...delivery,
        process,
        updatedAt,
        version: delivery.version + 1,
      }));
      await deliveries.store(own);
      this.add(own);
    }
  }
}
