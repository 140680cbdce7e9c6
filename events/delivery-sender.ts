import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Log } from '#kernel/log/log.ts';
import { Backlog } from './backlog.ts';
import { type CallOutcome, unanswered } from './call-webhook.ts';
import { CatchUp } from './catch-up.ts';
import type { DeadAddresses } from './dead-addresses.ts';
import type { Delivery, NewDelivery, Progress } from './delivery.ts';
import { DeliveryCalls, type DeliveryCallsDeps } from './delivery-calls.ts';
import type { QueuedDelivery, TargetHealth } from './delivery-lanes.ts';
import { DeliveryQueue, type queueLimits } from './delivery-queue.ts';
import type { DeliveryTable } from './delivery-table.ts';
import { splitDelivery } from './split-delivery.ts';

/** Milliseconds, like the delays below. */
export const deliveryLifetime = 86_400_000;
const firstDelay = 5_000;
const longestDelay = 3_600_000;
/** Failed attempts after which the records of a delivery are sent one by one. */
const wholeAttempts = 3;
const [gone, tooMany] = [410, 429];
export const switchedOff = 'the address is switched off: it answered 410 Gone';
const storeAgainAfter = 1_000;
const sweepInterval = 30_000;
const usualSilence = 120_000;
/** Calls that start in one turn of the event loop. */
const startedAtOnce = 16;
/** Exponential backoff: doubles from 5 s up to an hour, with jitter down to half against bursts. Milliseconds. */
export function retryDelay(attempts: number, random = Math.random): number {
  const delay = Math.min(longestDelay, firstDelay * 2 ** Math.min(attempts - 1, 20));
  return Math.round(delay * (0.5 + random() / 2));
}

export interface DeliverySenderDeps extends DeliveryCallsDeps {
  readonly table: DeliveryTable;
  readonly deadAddresses: DeadAddresses;
  /** Whether this process is the only one on its store. */
  readonly singleWriter: boolean;
  /** Bytes of contents that an account may have pending. */
  readonly contentShare: number;
  readonly log: Pick<Log, 'warn'>;
  /** Whether this process makes mails. By default true. */
  readonly mails?: boolean | undefined;
  /** Whether an account is deleted, so that nothing of it is sent or stored any more. */
  readonly isClosed?: ((ownerId: string) => boolean) | undefined;
  readonly delayAfter?: ((attempts: number) => number) | undefined;
  /** Milliseconds of silence after which a process counts as dead. */
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
  readonly #calls: DeliveryCalls;
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #pumping = false;
  #sweeper: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | null = null;
  /** Silent processes whose deliveries were taken over; null: no sweep has succeeded yet. */
  #silent: ReadonlySet<string> | null = null;

  constructor(deps: DeliverySenderDeps) {
    this.#deps = deps;
    this.#silence = deps.silence ?? usualSilence;
    this.#queue = new DeliveryQueue(deps.limits);
    this.backlog = new Backlog(deps.contentShare);
    this.#calls = new DeliveryCalls(deps);
    const { process, backlog } = this;
    this.#catchUp = new CatchUp({
      ...deps,
      process,
      backlog,
      queue: this.#queue,
      stopped: this.#stop.signal,
      onFetched: () => this.#pumpSoon(),
    });
  }

  /** Queues deliveries that are already stored, and counted in the backlog. */
  add(list: readonly NewDelivery[]): void {
    for (const [delivery, content] of list) {
      if (this.#enqueue(delivery)) this.#calls.keep(delivery.id, content);
    }
    this.#pumpSoon();
  }

  /** Whether memory has room for one more delivery of an account. */
  hasRoom(ownerId: string): boolean {
    return this.#queue.roomOf(ownerId) > 0;
  }

  /** Sends an ended delivery again, even before others in the store. */
  addAgain(delivery: Delivery): void {
    if (!this.#queue.add(delivery)) this.#catchUp.fallBehind(delivery);
    this.#pumpSoon();
  }

  /** Starts to take over deliveries that earlier or dead processes did not send. */
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

  /** Deliveries in memory must be older than the stored backlog, or records would lose their order. */
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
    let started = 0;
    for (let next = this.#queue.take(Date.now()); next !== null; next = this.#queue.take(Date.now())) {
      this.#run(this.#send(next));
      // let other work run first
      if (++started === startedAtOnce) {
        this.#pumpSoon();
        return;
      }
    }
    const { nextAt } = this.#queue;
    if (nextAt === null) return;
    this.#timer = globalThis.setTimeout(() => this.#pump(), Math.max(0, nextAt - Date.now()));
    this.#timer.unref();
  }

  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #send(queued: QueuedDelivery): Promise<void> {
    const { delivery } = queued;
    const { deadAddresses: dead } = this.#deps;
    const { ownerId, id, url } = delivery;
    if (this.#deps.isClosed?.(ownerId)) {
      this.#calls.drop(id);
      this.#forget(queued);
      return;
    }
    if (dead.has(ownerId, url)) {
      const progress = this.#after(queued, unanswered(switchedOff), 0);
      await this.#end(queued, progress, { failed: false });
      return;
    }
    const outcome = await this.#calls.call(delivery, this.#stop.signal);
    this.#calls.drop(id);
    // it may have arrived or not, so the next process sends it again
    if (this.#stop.signal.aborted && !outcome.delivered) return;
    if (outcome.status === gone && !dead.has(ownerId, url)) {
      await dead.switchOff(ownerId, url, 'answered 410 Gone').catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'a webhook address that is gone could not be switched off');
      });
    }
    const progress = this.#after(queued, outcome, 1);
    const until = outcome.pause === 0 ? 0 : Date.now() + outcome.pause;
    const slows = outcome.status === tooMany || until > 0;
    const health = { failed: !outcome.delivered && outcome.isFinal !== true, slows, until };
    const maySplit =
      progress.state === 'pending' && outcome.accepted && !slows && progress.attempts >= wholeAttempts;
    if (!maySplit || !(await this.#split(queued, progress, health)))
      await this.#end(queued, progress, health);
  }

  async #end(queued: QueuedDelivery, progress: Progress, health: TargetHealth): Promise<void> {
    const { delivery } = queued;
    const { ownerId, bytes } = delivery;
    const isOver = progress.state !== 'pending';
    const dropsContent = isOver && !this.backlog.keepsContent(ownerId, bytes);
    // a delivery whose outcome is not stored is sent again after a restart
    await this.#deps.table.note(delivery, progress, dropsContent).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'the outcome of a webhook could not be stored');
    });
    queued.attempts = progress.attempts;
    this.#queue.end(queued, isOver ? null : progress.nextAt.getTime(), health);
    if (isOver) {
      this.backlog.remove(ownerId, bytes);
      this.#catchUp.ended(delivery);
    }
    this.#catchUp.request(ownerId);
    this.#pumpSoon();
  }

  /** Drops a delivery of a deleted account: its row is removed with the others. */
  #forget(queued: QueuedDelivery): void {
    const { delivery } = queued;
    this.#queue.end(queued, null, { failed: false });
    this.backlog.remove(delivery.ownerId, delivery.bytes);
    this.#catchUp.ended(delivery);
    this.#pumpSoon();
  }

  /** Splits a delivery that keeps failing, as one of its records may be the reason. @returns whether it was split */
  async #split(queued: QueuedDelivery, progress: Progress, health: TargetHealth): Promise<boolean> {
    const { delivery } = queued;
    const { ownerId, bytes } = delivery;
    if (!this.#queue.maySplit(queued)) return false;
    const content = await this.#calls.contentOf(delivery).catch(() => null);
    if (content === null) return false;
    const singles = splitDelivery({ ...delivery, process: this.process }, content, progress.updatedAt);
    const sum = singles.reduce((total, [single]) => total + single.bytes, 0);
    const more = { count: singles.length - 1, bytes: sum - bytes };
    if (!this.backlog.maySplit(ownerId, more)) return false;
    const problem = `${progress.problem}; its records are sent one by one`;
    if (!(await this.#storeSplit(delivery, { ...progress, state: 'split', problem }, singles))) return true;
    for (const [{ id }, text] of singles) this.#calls.keep(id, text);
    this.#queue.split(
      queued,
      singles.map(([single]) => single),
      health,
    );
    this.backlog.split(ownerId, more);
    this.#catchUp.ended(delivery);
    this.#catchUp.request(ownerId);
    this.#pumpSoon();
    return true;
  }

  /**
   * Retries until it succeeds: after a failure the rows may be stored, and records would lose their order if the whole
   * delivery was sent. @returns false: the process is stopping
   */
  async #storeSplit(
    delivery: Delivery,
    progress: Progress,
    singles: readonly NewDelivery[],
  ): Promise<boolean> {
    const { table, log } = this.#deps;
    while (!this.#stop.signal.aborted) {
      try {
        await table.split(delivery, progress, singles);
        return true;
      } catch (error) {
        log.warn({ err: error }, 'records of a failed webhook could not be stored one by one');
        await setTimeout(storeAgainAfter, null, { signal: this.#stop.signal }).catch(() => {});
      }
    }
    return false;
  }

  /** @param made whether an attempt was made */
  #after({ delivery, attempts: before }: QueuedDelivery, outcome: CallOutcome, made: 0 | 1): Progress {
    const { delayAfter = retryDelay, deadAddresses } = this.#deps;
    const { process } = this;
    const { ownerId, url, expiresAt } = delivery;
    const { delivered, status, problem, pause, isFinal = false } = outcome;
    const updatedAt = new Date();
    const attempts = before + made;
    const nextAt = new Date(updatedAt.getTime() + Math.max(pause, delayAfter(attempts)));
    const isGone = status === gone || deadAddresses.has(ownerId, url);
    const failed = nextAt > expiresAt || isGone || isFinal ? 'failed' : 'pending';
    const state = delivered ? 'delivered' : failed;
    return { process, state, attempts, status, problem, updatedAt, nextAt, expiresAt };
  }

  #sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepNow().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async #sweepNow(): Promise<void> {
    const { table, deadAddresses, singleWriter, log, mails } = this.#deps;
    const { process } = this;
    const since = singleWriter ? null : new Date(Date.now() - this.#silence);
    try {
      if (since !== null) await table.sayAlive(process);
      if (since !== null || this.#silent === null) await deadAddresses.refresh();
      // without other processes, there are only earlier ones to take over from
      const silent = since === null ? [] : await table.silent(since);
      const known = this.#silent;
      const adopts = known === null || silent.some((other) => !known.has(other));
      if (adopts) await table.adopt(process, since, mails);
      const adopted = adopts ? await table.pendingTotals(process) : [];
      for (const { ownerId, count, bytes } of adopted) this.backlog.restore(ownerId, { count, bytes });
      this.#silent = new Set(silent);
    } catch (error) {
      if (!this.#stop.signal.aborted) log.warn({ err: error }, 'pending webhooks could not be read');
    }
    for (const ownerId of this.backlog.behind.keys()) this.#catchUp.request(ownerId);
  }
}
