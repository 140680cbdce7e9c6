import { LRUCache } from 'lru-cache';
import type { Database } from '#engine/database.ts';
import { exceededLimit } from '#engine/exceeded-limit.ts';
import { type QueuedItem, StatementQueues, settleAll } from '#engine/statement-queues.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { IsSelective } from '../sql/conditions-sql.ts';
import { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { SlotValue } from '../sql/terms.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { CommonTerms } from './common-terms.ts';
import { comparedIn, formOf, type QueuedFind, readFinds } from './find-statement.ts';
import { type Lookup, readLookups } from './lookup-statement.ts';
import type { Engine, LookupKey } from './record-store.ts';
import type { StoreFind } from './store-find.ts';
import { readByValues, type ValueFind, valueQueue, valuesIn } from './value-finds.ts';

type WaitingFind = QueuedItem<QueuedFind, readonly StoredRow[] | null>;
type WaitingValueFind = QueuedItem<ValueFind, readonly StoredRow[] | null>;

/** Reads of one statement. 256 look-ups cost three times as much as one; 64 finds cost twice as much as one. */
const perStatement = { lookups: 256, finds: 64, values: 256 };
/** Of each kind, in this process. */
const waitingLimit = 20_000;
/** How many forms of finds with many records are remembered, and for how long. Milliseconds. */
const costlyForms = 1000;
const costlyFor = 60_000;
/**
 * Finds that compare other fields wait this long for a slow statement, and are then queued separately for a while.
 * Milliseconds.
 */
const patience = 500;
const apartFor = 10_000;
/**
 * Most clients send their next request as soon as they get an answer, and a statement costs little more with it.
 * Milliseconds.
 */
const linger = { part: 1, most: 20 };

/**
 * Reads that share statements: reads that arrive while a statement runs wait for the next one. An idle server adds no
 * delay, and a busy one asks the engine rarely.
 */
export class SharedReads {
  readonly table: RecordsTable;
  readonly #lookups: StatementQueues<Lookup, readonly StoredRow[]>;
  readonly #finds: StatementQueues<QueuedFind, readonly StoredRow[] | null>;
  readonly #valueFinds: StatementQueues<ValueFind, readonly StoredRow[] | null>;
  readonly #common: CommonTerms;
  /** Find shapes, and queues, that returned too many rows lately: they run alone until this expires. */
  readonly #costly = new LRUCache<string, true>({ max: costlyForms, ttl: costlyFor });

  constructor(args: {
    readonly db: Database;
    readonly database: string;
    readonly metrics: Pick<Metrics, 'batch'>;
  }) {
    const { db, database, metrics } = args;
    this.table = new RecordsTable(db, database);
    const engine = { db, table: this.table };
    this.#common = new CommonTerms(engine);
    this.#lookups = new StatementQueues({
      pendingLimit: waitingLimit,
      full: 'too many look-ups wait',
      sizeLimit: perStatement.lookups,
      onStatement: metrics.batch('record_lookups'),
      linger,
      run: (lookups) => settleAll(lookups, () => readLookups(engine, itemsOf(lookups))),
    });
    this.#finds = new StatementQueues({
      pendingLimit: waitingLimit,
      full: 'too many finds wait',
      sizeLimit: perStatement.finds,
      onStatement: metrics.batch('record_finds'),
      linger,
      run: (finds) => this.#runFinds(engine, finds),
    });
    this.#valueFinds = new StatementQueues({
      pendingLimit: waitingLimit,
      full: 'too many finds wait',
      sizeLimit: perStatement.values,
      onStatement: metrics.batch('record_value_finds'),
      linger,
      run: (finds) => this.#runValueFinds(engine, finds),
    });
  }

  selectivity(space: RecordSpace): IsSelective | Promise<IsSelective> {
    return this.#common.of(space);
  }

  /** The rows of the table, in the order of their ids. The statement is shared by all spaces and accounts of a home. */
  lookUp(space: RecordSpace, wanted: LookupKey, signal: AbortSignal): Promise<readonly StoredRow[]> {
    const shape = 'id' in wanted ? 'ids' : 'keys';
    const queue = `${shape} ${this.table.homeOf(space.id)}`;
    return this.#lookups.add({
      queue,
      shape,
      size: 1,
      account: space.ownerId,
      signal,
      spaceId: space.id,
      wanted,
    });
  }

  /**
   * The records of a find, by a statement with other finds of the space in the same order. Other spaces do not wait for it.
   * Null: it needs a statement of its own.
   */
  async find(find: StoreFind): Promise<readonly StoredRow[] | null> {
    const { space, plan, signal, settings, timeout } = find;
    const common = this.#common.of(space);
    const rare = valuesIn(space, plan, typeof common === 'function' ? common : await common);
    find.source = rare === null ? 'scan' : 'index';
    if (rare !== null) return this.#findByValues(find, rare);
    const compared = comparedIn(plan);
    if (compared === null) return null;
    // access tokens may have limits of their own
    const { form, together } = formOf(space, plan, compared, `${settings} ${timeout ?? ''}`);
    if (this.#costly.has(form)) return null;
    const { fields, values } = compared;
    return this.#finds.add({
      queue: this.#costly.has(together) ? form : together,
      shape: '',
      size: 1,
      account: space.ownerId,
      signal,
      fields,
      values,
      space,
      plan,
      form,
      find,
      settings,
      timeout,
    });
  }

  /** Null: the records are too many, or too large, for a shared statement. */
  async #findByValues(
    { space, plan, signal, settings, timeout }: StoreFind,
    values: readonly SlotValue[],
  ): Promise<readonly StoredRow[] | null> {
    const { queue, form } = valueQueue(space, plan, values, `${settings} ${timeout ?? ''}`);
    if (this.#costly.has(form)) return null;
    return this.#valueFinds.add({
      queue,
      shape: '',
      size: values.length,
      account: space.ownerId,
      signal,
      space,
      plan,
      values,
      form,
      settings,
      timeout,
    });
  }

  async #runValueFinds(engine: Engine, finds: readonly WaitingValueFind[]): Promise<void> {
    await settleAll(finds, async () => {
      const found = await readByValues(engine, itemsOf(finds)).catch((error: unknown) => {
        // the cost of several finds says nothing about a single one
        if (exceededLimit(error) === null) throw error;
        return null;
      });
      return (find) => {
        const rows = found?.(find) ?? null;
        if (rows === null && finds.length === 1) this.#costly.set(find.form, true);
        return rows;
      };
    });
  }

  async #runFinds(engine: Engine, finds: readonly WaitingFind[]): Promise<void> {
    const [{ item: first }] = finds as [WaitingFind];
    if (first.queue === first.form) return this.#answer(engine, finds);
    if (this.#costly.has(first.queue)) return this.#sendApart(finds);
    // reads that compare other fields do not wait for a slow statement
    if (!(await settledWithin(this.#answer(engine, finds), patience)))
      this.#costly.set(first.queue, true, { ttl: apartFor });
  }

  async #answer(engine: Engine, finds: readonly WaitingFind[]): Promise<void> {
    const [{ item: first, resolve }] = finds as [WaitingFind];
    if (finds.length === 1) {
      resolve(null);
      // meanwhile, other requests gather in the queue
      return first.find.over();
    }
    const areAlike = finds.every(({ item }) => item.form === first.form);
    const read = readFinds(engine, itemsOf(finds)).catch((error: unknown) => {
      // the cost of several finds says nothing about a single one, except for time when all are of one form
      const limit = exceededLimit(error);
      if (limit === null || (limit.of === 'time' && areAlike)) throw error;
      return null;
    });
    if (!areAlike && (await read.catch(() => undefined)) === null) {
      this.#costly.set(first.queue, true);
      return this.#sendApart(finds);
    }
    await settleAll(finds, async () => {
      const found = await read;
      return (find) => {
        const rows = found?.(find) ?? null;
        if (rows === null) this.#costly.set(find.form, true);
        return rows;
      };
    });
  }

  /** From now on they share statements only with finds of the same form. */
  #sendApart(finds: readonly WaitingFind[]): void {
    for (const { item, resolve, reject } of finds)
      this.#finds.add({ ...item, queue: item.form }).then(resolve, reject);
  }
}

function itemsOf<Item>(waiting: readonly QueuedItem<Item, never>[]): readonly Item[] {
  return waiting.map(({ item }) => item);
}
