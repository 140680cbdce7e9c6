import { overloaded } from '../errors/catalogue.ts';
import { TableTurns } from './table-turns.ts';

/** What one request wants a statement to do, together with those of others. */
export interface Queued {
  /** Quoted, with its database. */
  readonly table: string;
  /** Only those of one shape go into one statement. */
  readonly shape: string;
  /** Bytes or characters: what counts against the limits. */
  readonly size: number;
  /** No two with the same key go into one statement; absent: with any others. */
  readonly key?: string;
  /** Aborted: it is left out when its statement has not begun. */
  readonly signal: AbortSignal;
}

export type Waiting<Item, Result> = Item & {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

/** Items that are about to come: the next statement waits for them a little, because it costs the same with them. */
export interface Gather {
  /** How many items are under way, those that wait here included. */
  expected(): number;
  /** Milliseconds. */
  readonly wait: number;
}

export interface TableQueues<Item, Result> {
  /** Settles with the item's outcome. Rejects with 503 when too much waits. */
  add(item: Item): Promise<Result>;
}

/**
 * One statement for a table runs at a time, and what comes meanwhile gathers for the next one.
 * @param args.pendingLimit sizes of what may wait or be made at once in this process
 * @param args.full what the 503 says beyond that
 * @param args.sizeLimit sizes that are gathered for one statement; one item is let in even beyond it
 * @param args.countLimit items of one statement
 * @param args.turns shared with others that change the same tables; absent: there are none
 * @param args.gather absent: what comes while a statement is under way is the next one
 * @param args.run makes the statement. Never rejects; it settles each item by its own outcome
 */
export function createTableQueues<Item extends Queued, Result>(args: {
  pendingLimit: number;
  full: string;
  sizeLimit: number;
  countLimit?: number;
  turns?: TableTurns | undefined;
  gather?: Gather | undefined;
  run: (table: string, items: readonly Waiting<Item, Result>[]) => Promise<void>;
}): TableQueues<Item, Result> {
  const { pendingLimit, full, turns = new TableTurns(), gather, run } = args;
  const { sizeLimit, countLimit = Number.POSITIVE_INFINITY } = args;
  /** Tables with a statement under way, and what waits for its end. */
  const queues = new Map<string, Waiting<Item, Result>[]>();
  /** Called when an item comes that a statement may wait for. */
  const arrivals = new Map<string, () => void>();
  let pending = 0;

  /** Resolves when all that are expected are here, or after a while. */
  const gathered = (table: string, queue: readonly unknown[], { expected, wait }: Gather): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        arrivals.delete(table);
        resolve();
      };
      const timer = setTimeout(done, wait);
      arrivals.set(table, () => {
        if (queue.length >= expected()) done();
      });
    });

  const drain = async (table: string, queue: Waiting<Item, Result>[]): Promise<void> => {
    while (queue.length > 0) {
      if (gather !== undefined && queue.length < gather.expected()) await gathered(table, queue, gather);
      await turns.beside(table, async () => {
        const items = takeNext(queue, sizeLimit, countLimit);
        if (items.length > 0) await run(table, items);
      });
    }
    queues.delete(table);
  };

  return {
    async add(item) {
      const { table, size } = item;
      // what is larger than the limit is let in alone
      if (pending > 0 && pending + size > pendingLimit) throw overloaded(full);
      pending += size;
      try {
        return await new Promise<Result>((resolve, reject) => {
          const waiting = { ...item, resolve, reject };
          const queue = queues.get(table);
          if (queue !== undefined) {
            queue.push(waiting);
            arrivals.get(table)?.();
            return;
          }
          const fresh = [waiting];
          queues.set(table, fresh);
          void drain(table, fresh);
        });
      } finally {
        pending -= size;
      }
    },
  };
}

/** Takes what goes into the next statement: items of the first one's shape, in turn, until one does not fit. */
function takeNext<Item extends Queued & { readonly reject: (error: unknown) => void }>(
  queue: Item[],
  sizeLimit: number,
  countLimit: number,
): Item[] {
  const taken: Item[] = [];
  const left: Item[] = [];
  const keys = new Set<string>();
  let size = 0;
  let full = false;
  for (const item of queue) {
    const { key } = item;
    if (item.signal.aborted) {
      item.reject(item.signal.reason);
    } else if ((taken[0] ?? item).shape !== item.shape || (key !== undefined && keys.has(key))) {
      left.push(item);
    } else {
      full ||= taken.length === countLimit || (taken.length > 0 && size + item.size > sizeLimit);
      (full ? left : taken).push(item);
      if (key !== undefined) keys.add(key);
      size += item.size;
    }
  }
  queue.splice(0, queue.length, ...left);
  return taken;
}
