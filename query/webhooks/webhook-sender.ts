import { randomUUID } from 'node:crypto';
import type { KeyedHash } from '../../common/auth/keyed-hash.ts';
import { type ObserveCall, unobserved } from '../../common/calls/observe-call.ts';
import type { Log } from '../../common/log/log.ts';
import { callWebhook } from './call-webhook.ts';
import type { FindAddress } from './network-guard.ts';
import type { Deliveries, Delivery } from './webhook-deliveries.ts';
import { type Queued, WebhookQueue } from './webhook-queue.ts';

/** Sends deliveries from the queue in the store until they arrive or expire. */
export interface WebhookSender {
  /** Of this process, as deliveries name it. */
  readonly process: string;
  /** Whether an account may have more deliveries waiting. */
  hasRoom(ownerId: string, count: number): boolean;
  /** Takes deliveries that are in the store. */
  add(deliveries: readonly Delivery[]): void;
  /** Looks for deliveries that an earlier process, or one that died, did not send. */
  start(): Promise<void>;
  close(): Promise<void>;
}

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

const undelivered: Awaited<ReturnType<typeof callWebhook>> = { delivered: false, status: 0, problem: '' };

export function createWebhookSender(args: {
  deliveries: Deliveries;
  findAddress: FindAddress;
  secretOf: KeyedHash;
  /** Whether no other process has this store. */
  alone: boolean;
  log?: Pick<Log, 'warn'> | undefined;
  observeCall?: ObserveCall | undefined;
  delayAfter?: ((attempts: number) => number) | undefined;
  /** Milliseconds after which a process that says nothing is taken for dead. */
  silence?: number | undefined;
}): WebhookSender {
  const { deliveries, findAddress, secretOf, alone, log, observeCall = unobserved } = args;
  const { delayAfter = retryDelay, silence = usualSilence } = args;
  const process = randomUUID();
  const queue = new WebhookQueue();
  const waiting = new Map<string, number>();
  const running = new Set<Promise<void>>();
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sweeper: NodeJS.Timeout | undefined;
  /** There may be some in the store that memory had no room for. */
  let behind = false;

  const count = (ownerId: string, change: number): void => {
    const left = (waiting.get(ownerId) ?? 0) + change;
    if (left > 0) waiting.set(ownerId, left);
    else waiting.delete(ownerId);
  };

  const pump = (): void => {
    clearTimeout(timer);
    if (stop.signal.aborted) return;
    const { ready, nextAt } = queue.take(Date.now());
    for (const queued of ready) {
      const sending = send(queued).finally(() => {
        running.delete(sending);
        if (behind && queue.size === 0) void sweep();
        setImmediate(pump);
      });
      running.add(sending);
    }
    if (nextAt === null) return;
    timer = setTimeout(pump, Math.max(0, nextAt - Date.now()));
    timer.unref();
  };

  /** A refusal is counted as an error, though it is no exception. */
  const observed = async (call: () => ReturnType<typeof callWebhook>): ReturnType<typeof callWebhook> => {
    let outcome = undelivered;
    const work = async (): Promise<void> => {
      outcome = await call();
      if (!outcome.delivered) throw new Error(outcome.problem);
    };
    await observeCall('webhook', 'POST', work, { signal: stop.signal }).catch(() => {});
    return outcome;
  };

  const send = async (queued: Queued): Promise<void> => {
    const { delivery } = queued;
    const { id, url, body, ownerId } = delivery;
    const secret = await secretOf(ownerId).catch(() => null);
    const outcome =
      secret === null
        ? { delivered: false, status: 0, problem: 'the key of the store can not be read' }
        : await observed(() => callWebhook({ id, url, body, secret }, findAddress, stop.signal));
    // nobody knows whether it arrived: the next process sends it again
    if (stop.signal.aborted && !outcome.delivered) return queue.end(queued, delivery);
    const now = new Date();
    const attempts = delivery.attempts + 1;
    const nextAt = new Date(now.getTime() + delayAfter(attempts));
    const failed = nextAt > delivery.expiresAt ? 'failed' : 'pending';
    const after: Delivery = {
      ...delivery,
      state: outcome.delivered ? 'delivered' : failed,
      attempts,
      status: outcome.status,
      problem: outcome.problem,
      updatedAt: now,
      nextAt,
      version: delivery.version + 1,
    };
    // what is not noted is sent again after a restart
    await deliveries.store([after]).catch((error: unknown) => {
      log?.warn({ err: error }, 'the outcome of a webhook could not be stored');
    });
    queue.end(queued, after);
    if (after.state !== 'pending') count(ownerId, -1);
  };

  const enqueue = (list: readonly Delivery[]): void => {
    for (const delivery of list) {
      // what is in memory must be older than what is not, or records would lose their order
      behind ||= !queue.hasRoom;
      if (!behind) queue.add(delivery);
    }
    setImmediate(pump);
  };
  const add = (list: readonly Delivery[]): void => {
    for (const { ownerId } of list) count(ownerId, 1);
    enqueue(list);
  };

  /** Takes over what nobody sends. */
  const adopt = async (since: Date | null): Promise<void> => {
    for (;;) {
      if (!queue.hasRoom) return;
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
      add(own);
    }
  };

  let sweeping: Promise<void> | null = null;
  const sweep = (): Promise<void> => {
    sweeping ??= sweepNow().finally(() => {
      sweeping = null;
    });
    return sweeping;
  };
  const sweepNow = async (): Promise<void> => {
    try {
      if (!alone && queue.size > 0) await deliveries.sayAlive(process);
      if (behind && queue.size < page) {
        const limit = page + queue.size;
        // what is stored from now on goes to memory as well
        behind = false;
        const next = await deliveries.pendingOf(process, limit);
        enqueue(next);
        behind ||= next.length === limit;
      }
      await adopt(alone ? null : new Date(Date.now() - silence));
    } catch (error) {
      if (!stop.signal.aborted) log?.warn({ err: error }, 'webhooks that wait could not be looked for');
    }
  };

  return {
    process,
    hasRoom: (ownerId, more) => (waiting.get(ownerId) ?? 0) + more <= mostWaiting,
    add,
    async start() {
      await sweep();
      sweeper = setInterval(() => void sweep(), sweepInterval);
      sweeper.unref();
    },
    async close() {
      stop.abort(new Error('the process stops'));
      clearTimeout(timer);
      clearInterval(sweeper);
      await Promise.allSettled([...running, sweeping]);
    },
  };
}
