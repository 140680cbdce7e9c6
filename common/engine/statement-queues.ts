import { FairShare } from '#kernel/limits/fair-share.ts';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import { type ActiveSpan, activeSpan, withActiveSpan } from '#kernel/telemetry/active-span.ts';

/** A request's part of a shared statement. */
export interface StatementItem {
  /** Statements of one queue run one at a time. */
  readonly queue: string;
  /** A statement only has items of one shape. */
  readonly shape: string;
  /** Bytes or characters, counted against the limits. */
  readonly size: number;
  /** While several accounts wait, each gets its share of the next statement. */
  readonly account: string;
  /** Key of a lock, such as the lock of a record space that is being cleared; absent: none. */
  readonly lockKey?: string | undefined;
  /** A statement has at most one item with this key; absent: no such restriction. */
  readonly key?: string;
  /** Aborted: the item is dropped if its statement has not begun. */
  readonly signal: AbortSignal;
}

/** An item in its queue. It refers to the item, because a copy would cost more than the rest of this file. */
export interface QueuedItem<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Span of the item's request. */
  readonly span: ActiveSpan | undefined;
}

/** The next statement waits a little for items that are about to arrive, because it costs the same with them. */
export interface GatherOptions {
  /** Number of items that are about to arrive, plus those that already wait here. */
  expected(): number;
  /** The longest wait. Milliseconds. */
  readonly wait: number;
}

/**
 * Resolves with the milliseconds until a statement's turn among the statements of all processes; more items gather
 * meanwhile.
 * @param args.lone whether this statement and the last statement of the queue had a single item
 */
export type Pace = (args: { readonly queue: string; readonly lone: boolean }) => Promise<number>;

const nothingExpected: GatherOptions = { expected: () => 0, wait: 0 };

export interface StatementQueuesOptions<Item, Result> {
  /** Total size of items that may wait or run in this process; an account may have half of it. */
  readonly pendingLimit: number;
  /** The text of the 503 beyond that. */
  readonly full: string;
  /** Total size of the items of a statement; a single item may exceed it. */
  readonly sizeLimit: number;
  /** Most items of a statement. */
  readonly countLimit?: number;
  /** Shared with other queues that change the same rows. By default a new lock. */
  readonly lock?: ReadWriteLock | undefined;
  /** By default nothing is expected: items that arrive during a statement form the next one. */
  readonly gather?: GatherOptions | undefined;
  /**
   * After a statement of several items, the next one waits until as many more have arrived, but only for `part` of the
   * statement's duration and at most `most` milliseconds. By default it does not wait.
   */
  readonly linger?: { readonly part: number; readonly most: number } | undefined;
  /** By default no statement waits. */
  readonly pace?: Pace | undefined;
  /** Called with the number of items that share a statement. */
  readonly onStatement?: ((items: number) => void) | undefined;
  /** Runs the statement. Never rejects; settles each item by its own outcome. */
  readonly run: (items: readonly QueuedItem<Item, Result>[]) => Promise<void>;
}

/** Batches items: a queue runs one statement at a time, and items that arrive meanwhile gather for the next one. */
export class StatementQueues<Item extends StatementItem, Result> {
  readonly #options: StatementQueuesOptions<Item, Result>;
  readonly #lock: ReadWriteLock;
  /** Queues with a running statement, and the items that wait for its end. */
  readonly #queues = new Map<string, FairQueue<Item, Result>>();
  /** Called when an item arrives that a statement may wait for. */
  readonly #arrivals = new Map<string, (item: Item) => void>();
  readonly #pending: FairShare;

  constructor(options: StatementQueuesOptions<Item, Result>) {
    this.#options = options;
    this.#lock = options.lock ?? new ReadWriteLock();
    const { pendingLimit, full } = options;
    this.#pending = new FairShare({ capacity: pendingLimit, share: pendingLimit / 2, queueLimit: 0, full });
  }

  /** Settles with the item's outcome. Rejects with 503 when too many items wait. */
  async add(item: Item): Promise<Result> {
    const pending = this.#pending.claim(item.account, item.size);
    try {
      return await new Promise<Result>((resolve, reject) => {
        const waiting = { item, resolve, reject, span: activeSpan() };
        const queue = this.#queues.get(item.queue);
        if (queue !== undefined) {
          queue.push(waiting);
          this.#arrivals.get(item.queue)?.(item);
          return;
        }
        const fresh = new FairQueue<Item, Result>();
        fresh.push(waiting);
        this.#queues.set(item.queue, fresh);
        void this.#drain(item.queue, fresh);
      });
    } finally {
      pending.release();
    }
  }

  async #drain(name: string, queue: FairQueue<Item, Result>): Promise<void> {
    const { gather = nothingExpected, linger, pace, run, onStatement = () => {} } = this.#options;
    let last = 1;
    const isLocked = (item: Item): boolean => this.#isLocked(item);
    while (queue.size > 0) {
      if (queue.size < gather.expected()) await this.#gathered(name, queue, gather);
      if (pace !== undefined) {
        const wait = await pace({ queue: name, lone: queue.size === 1 && last === 1 });
        const { POSITIVE_INFINITY: all } = Number;
        if (wait > 0) await this.#gathered(name, queue, { expected: () => all, wait });
      }
      const items = queue.take({ ...this.#options, isLocked });
      if (items.length === 0) {
        if (queue.size > 0) await this.#unlockedOrJoined(name);
        continue;
      }
      const lockKeys = items.flatMap(({ item: { lockKey } }) => lockKey ?? []);
      onStatement(items.length);
      last = items.length;
      // the statement appears in the trace of only one of its requests
      const [{ span } = {}] = items;
      const began = performance.now();
      await this.#lock.shared(lockKeys, () => withActiveSpan(span, () => run(items)));
      if (linger === undefined || items.length === 1) continue;
      const returned = queue.size + items.length;
      const wait = Math.min(linger.most, (performance.now() - began) * linger.part);
      await this.#gathered(name, queue, { expected: () => returned, wait });
    }
    this.#queues.delete(name);
  }

  #isLocked({ lockKey }: Item): boolean {
    return lockKey !== undefined && this.#lock.isLocked(lockKey);
  }

  /** All waiting items are locked: resolves when one is unlocked, or when an unlocked item arrives. */
  async #unlockedOrJoined(name: string): Promise<void> {
    const joined = new Promise<void>((resolve) => {
      this.#arrivals.set(name, (item) => {
        if (!this.#isLocked(item)) resolve();
      });
    });
    await Promise.race([this.#lock.changed(), joined]);
    this.#arrivals.delete(name);
  }

  /** Resolves when all expected items have arrived, or at the end of the wait. */
  #gathered(
    name: string,
    queue: { readonly size: number },
    { expected, wait }: GatherOptions,
  ): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#arrivals.delete(name);
        resolve();
      };
      const timer = setTimeout(done, wait);
      this.#arrivals.set(name, () => {
        if (queue.size >= expected()) done();
      });
    });
  }
}

/** Settles each item with its answer, or with the error of the read. */
export async function settleAll<Item, Answer>(
  waiting: readonly QueuedItem<Item, Answer>[],
  read: () => Promise<(item: Item) => Answer>,
): Promise<void> {
  try {
    const answerOf = await read();
    for (const { item, resolve } of waiting) resolve(answerOf(item));
  } catch (error) {
    for (const { reject } of waiting) reject(error);
  }
}

/** Round robin over accounts, from the least recently served. Each statement takes items of all of them. */
class FairQueue<Item extends StatementItem, Result> {
  /** In the order of service. */
  readonly #accounts = new Map<string, QueuedItem<Item, Result>[]>();
  size = 0;

  push(waiting: QueuedItem<Item, Result>): void {
    const { account } = waiting.item;
    const items = this.#accounts.get(account);
    if (items === undefined) this.#accounts.set(account, [waiting]);
    else items.push(waiting);
    this.size++;
  }

  /** Takes the items of the next statement: all of the first item's shape, until one does not fit. */
  take(limits: {
    readonly sizeLimit: number;
    readonly countLimit?: number;
    readonly isLocked: (item: Item) => boolean;
  }): QueuedItem<Item, Result>[] {
    const { sizeLimit, countLimit = Number.POSITIVE_INFINITY, isLocked } = limits;
    const taken: QueuedItem<Item, Result>[] = [];
    const keys = new Set<string>();
    const shapes = { first: undefined as string | undefined };
    let size = 0;
    /** Whether an item can join the taken items. */
    const fits = (item: Item): boolean =>
      (shapes.first ?? item.shape) === item.shape && !isLocked(item) && !(item.key && keys.has(item.key));
    const queues = [...this.#accounts].map(([account, items]) => ({
      account,
      items,
      next: 0,
      left: [] as QueuedItem<Item, Result>[],
    }));
    let open = queues;
    while (open.length > 0) {
      for (const queue of open) {
        const waiting = queue.items[queue.next++] as QueuedItem<Item, Result>;
        const { item } = waiting;
        if (item.signal.aborted) {
          waiting.reject(item.signal.reason);
          this.size--;
          continue;
        }
        const full = taken.length === countLimit || (taken.length > 0 && size + item.size > sizeLimit);
        if (full || !fits(item)) {
          queue.left.push(waiting);
          // a later change of the same record must not overtake this one
          if (item.key !== undefined) keys.add(item.key);
          if (full) {
            queue.left = queue.left.concat(queue.items.slice(queue.next));
            queue.next = queue.items.length;
          }
          continue;
        }
        shapes.first = item.shape;
        if (item.key !== undefined) keys.add(item.key);
        taken.push(waiting);
        size += item.size;
      }
      open = open.filter(({ items, next }) => next < items.length);
    }
    const served = new Set(taken.map(({ item: { account } }) => account));
    for (const { account, left } of queues) {
      // deleting and setting moves an account to the end; only setting keeps its place
      if (served.has(account) || left.length === 0) this.#accounts.delete(account);
      if (left.length > 0) this.#accounts.set(account, left);
    }
    this.size -= taken.length;
    return taken;
  }
}
