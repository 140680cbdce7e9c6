import { LRUCache } from 'lru-cache';
import type { Database } from '#engine/database.ts';
import { exceededLimit } from '#engine/exceeded-limit.ts';
import { type QueuedItem, StatementQueues, settleAll } from '#engine/statement-queues.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import type { IsKey } from '../sql/conditions-sql.ts';
import { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { CommonTerms } from './common-terms.ts';
import { comparedIn, type Find, formOf, readFinds } from './find-statement.ts';
import { type Lookup, readLookups } from './lookup-statement.ts';
import type { Engine, FindAnswers, LookupKey } from './record-store.ts';
import { readByValues, type ValueFind, valueQueue, valuesIn } from './value-finds.ts';

type WaitingFind = QueuedItem<Find, readonly StoredRow[] | null>;
type WaitingValueFind = QueuedItem<ValueFind, readonly StoredRow[] | null>;

/** Look-ups of one statement: 256 cost three times what one does. Finds: 64 cost twice. */
const perStatement = { lookups: 256, finds: 64, values: 256 };
/** Of each kind, in this process. */
const waitingLimit = 20_000;
/** Forms of finds that are known to have many records, and for how long that counts. Milliseconds. */
const costlyForms = 1000;
const costlyFor = 60_000;
/** After so long finds that compare other fields are not held up any longer, nor for some time on. Milliseconds. */
const patience = 500;
const apartFor = 10_000;
/** Clients that got answers mostly ask again at once, and a statement costs little more with them. Milliseconds. */
const linger = { part: 1, most: 20 };

/**
 * Reads that share statements: reads that come while one is under way gather for the next one. So an idle server adds no
 * delay, and a busy one asks the engine rarely.
 */
export class SharedReads {
  readonly table: RecordsTable;
  readonly #lookups: StatementQueues<Lookup, readonly StoredRow[]>;
  readonly #finds: StatementQueues<Find, readonly StoredRow[] | null>;
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

  rare(space: RecordSpace): IsKey | Promise<IsKey> {
    return this.#common.of(space);
  }

  /** The rows that the table has, in the order of their ids: with those of whatever spaces and accounts. */
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
   * The records of a plan, together with finds of the same space and in the same order. Other spaces do not wait for it.
   */
  async find<Result>(
    space: RecordSpace,
    plan: ReadPlan,
    signal: AbortSignal,
    answers: FindAnswers<Result>,
  ): Promise<Result> {
    const common = this.#common.of(space);
    const values = valuesIn(space, plan, typeof common === 'function' ? common : await common);
    const { shared, unshared, settings, timeout } = answers;
    answers.tell(values === null ? 'scan' : 'index');
    if (values !== null) {
      const rows = await this.#findByValues({ space, plan, values }, signal, answers);
      return rows === null ? await unshared() : shared(rows);
    }
    const compared = comparedIn(plan);
    if (compared === null) return unshared();
    // access tokens may have limits of their own
    const { form, together } = formOf(space, plan, compared, `${settings} ${timeout ?? ''}`);
    if (this.#costly.has(form)) return unshared();
    const queue = this.#costly.has(together) ? form : together;
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      const { fields, values } = compared;
      const rows = await this.#finds.add({
        queue,
        shape: '',
        size: 1,
        account: space.ownerId,
        signal,
        fields,
        values,
        space,
        plan,
        form,
        over,
        settings,
        timeout,
      });
      return rows === null ? await unshared() : shared(rows);
    } finally {
      end();
    }
  }

  /** Null: they are too many, or too large, for a statement that finds share. */
  async #findByValues(
    { space, plan, values }: Pick<ValueFind, 'space' | 'plan' | 'values'>,
    signal: AbortSignal,
    { settings, timeout }: Pick<ValueFind, 'settings' | 'timeout'>,
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
        // the cost of several together says nothing of one alone
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
      // requests gather meanwhile
      return first.over;
    }
    const areAlike = finds.every(({ item }) => item.form === first.form);
    const read = readFinds(engine, itemsOf(finds)).catch((error: unknown) => {
      // the cost of several together says nothing of one alone; but those of one form had their time
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

  /** They share statements with those of their own form alone. */
  #sendApart(finds: readonly WaitingFind[]): void {
    for (const { item, resolve, reject } of finds)
      this.#finds.add({ ...item, queue: item.form }).then(resolve, reject);
  }
}

function itemsOf<Item>(waiting: readonly QueuedItem<Item, never>[]): readonly Item[] {
  return waiting.map(({ item }) => item);
}
