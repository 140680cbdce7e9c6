import type { Database } from '../../common/clickhouse/database.ts';
import { type Queued, StatementQueues, type Waiting } from '../../common/clickhouse/statement-queues.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { LookupKey } from './record-store.ts';

interface Lookup extends Queued {
  readonly spaceId: string;
  readonly wanted: LookupKey;
}

type FoundRow = StoredRow & { readonly _space: string };

/** Look-ups of one statement: 256 cost three times what one does. */
const lookupsPerStatement = 256;
/** Look-ups that may wait in this process. */
const waitingLimit = 20_000;
/** Milliseconds; others wait for a statement too, so no request's signal ends it. */
const timeout = 30_000;

/**
 * Looks records up by id or by a unique value. What comes while a statement is under way gathers for the next one, of
 * whatever spaces and accounts, so that a server that is idle adds no delay and a busy one asks the engine rarely.
 */
export class RecordLookups {
  readonly #db: Database;
  readonly #table: RecordsTable;
  readonly #queues: StatementQueues<Lookup, readonly StoredRow[]>;

  constructor(args: {
    db: Database;
    table: RecordsTable;
    metrics?: Pick<Metrics, 'batch'> | undefined;
  }) {
    const { metrics } = args;
    this.#db = args.db;
    this.#table = args.table;
    this.#queues = new StatementQueues({
      pendingLimit: waitingLimit,
      full: 'too many look-ups wait',
      sizeLimit: lookupsPerStatement,
      onStatement: metrics?.batch('record_lookups'),
      run: (lookups) => this.#run(lookups),
    });
  }

  /** The rows that the table has, in the order of their ids. */
  find(space: RecordSpace, wanted: LookupKey, signal: AbortSignal): Promise<readonly StoredRow[]> {
    const kind = 'id' in wanted ? 'ids' : 'keys';
    return this.#queues.add({
      queue: `${kind} ${this.#table.homeOf(space.id)}`,
      shape: kind,
      size: 1,
      account: space.ownerId,
      signal,
      spaceId: space.id,
      wanted,
    });
  }

  async #run(lookups: readonly Waiting<Lookup, readonly StoredRow[]>[]): Promise<void> {
    try {
      const rows = await this.#db.rows<FoundRow>({
        ...this.#statement(lookups),
        signal: AbortSignal.timeout(timeout),
      });
      const found = groupByAnswer(rows, lookups);
      for (const lookup of lookups) lookup.resolve(found.get(answerKey(lookup.spaceId, lookup.wanted)) ?? []);
    } catch (error) {
      for (const { reject } of lookups) reject(error);
    }
  }

  #statement(lookups: readonly Lookup[]): { readonly sql: string; readonly home: string } {
    const ids = [];
    const keys = [];
    for (const { spaceId, wanted } of lookups) {
      if ('id' in wanted) ids.push({ spaceId, id: wanted.id });
      else keys.push({ spaceId, ...wanted });
    }
    return ids.length > 0
      ? this.#table.selectByIds(ids, rowColumns)
      : this.#table.selectByKeys(keys, rowColumns);
  }
}

function answerKey(spaceId: string, wanted: LookupKey): string {
  return 'id' in wanted ? `${spaceId} ${wanted.id}` : `${spaceId} ${wanted.slot} ${wanted.value}`;
}

/** A key stands for several values at times: the value of the record decides. */
function groupByAnswer(
  rows: readonly FoundRow[],
  lookups: readonly Lookup[],
): ReadonlyMap<string, readonly StoredRow[]> {
  const slots = new Map<string, Set<string>>();
  for (const { spaceId, wanted } of lookups) {
    if ('id' in wanted) continue;
    const known = slots.get(spaceId);
    if (known === undefined) slots.set(spaceId, new Set([wanted.slot]));
    else known.add(wanted.slot);
  }
  const found = new Map<string, StoredRow[]>();
  const add = (key: string, row: StoredRow): void => {
    const list = found.get(key);
    if (list === undefined) found.set(key, [row]);
    else list.push(row);
  };
  for (const row of rows) {
    const { _space, _id, _doc } = row;
    add(`${_space} ${_id}`, row);
    for (const slot of slots.get(_space) ?? []) {
      const value = _doc[slot];
      if (value !== undefined) add(`${_space} ${slot} ${value}`, row);
    }
  }
  for (const list of found.values()) list.sort((a, b) => (a._id < b._id ? -1 : 1));
  return found;
}
