import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Candidate, HashChecks } from './hash-checks.ts';
import type { Conditions } from './input/parse-conditions.ts';
import { costFor, costOf, nextLimits, type ReadCost, readError, type StatementLimits } from './read-cost.ts';
import { conditionsSql, idsSql, indexedConditions } from './sql/conditions-sql.ts';
import { rowColumns } from './sql/record-row.ts';
import type { Selection } from './sql/records-table.ts';
import type { StoredRow } from './sql/stored-row.ts';
import { valueSql } from './sql/value-sql.ts';
import type { RecordStore } from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** SQL for all conditions except those on hashed fields. */
export type NarrowedSelection = Pick<Selection, 'where' | 'indexed'>;

/** Checking one takes milliseconds of a core. */
const maxCandidates = 10;

interface CandidatesParts {
  readonly store: RecordStore;
  readonly checks: HashChecks;
  /** The limits of a search for candidates. */
  readonly cost: ReadCost;
}

/** Finds records by conditions on hashed fields, among the few records that meet the other conditions. */
export class Candidates {
  readonly #parts: CandidatesParts;

  constructor(parts: CandidatesParts) {
    this.#parts = parts;
  }

  /**
   * The record of credentials; null when there is no such record, or a hashed value is wrong. Neither the answer nor its
   * time shows which. If several records have the values, the oldest one counts.
   */
  async login(space: RecordSpace, conditions: Conditions, signal: AbortSignal): Promise<StoredRow | null> {
    const oldest = () => this.#find(space, conditions, 1, signal);
    const [right] = await this.#parts.checks.verified(space, conditions, oldest, signal);
    return right?.row ?? null;
  }

  /** The oldest record that meets the plain conditions, with the stored hashes of `hashed`, whose values are not compared. */
  async oldest(space: RecordSpace, conditions: Conditions, signal: AbortSignal): Promise<Candidate | null> {
    return (await this.#find(space, conditions, 1, signal))[0] ?? null;
  }

  /**
   * Checks conditions on hashed fields, and turns them into a condition on ids. Null: no record meets them. Throws a 400 when
   * the other conditions leave too many records, and a 422 when the search for them would cost too much.
   */
  async narrow(
    space: RecordSpace,
    conditions: Conditions,
    signal: AbortSignal,
  ): Promise<NarrowedSelection | null> {
    const where = conditionsSql(conditions);
    const indexed = indexedConditions(conditions, await this.#parts.store.selectivity(space));
    if (conditions.hashed.length === 0) return { where, indexed };
    const few = async (): Promise<readonly Candidate[]> => {
      const found = await this.#find(space, conditions, maxCandidates + 1, signal);
      if (found.length > maxCandidates) throw tooManyCandidates(conditions);
      return found;
    };
    const right = await this.#parts.checks.verified(space, conditions, few, signal);
    const ids = right.map(({ row }) => row._id);
    // the other conditions stay, because a record may have changed since
    return ids.length === 0 ? null : { where: `${where} AND ${idsSql(ids)}` };
  }

  /** The first records by plain conditions, oldest first, with the hashes that the other conditions need. */
  async #find(
    space: RecordSpace,
    conditions: Conditions,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    const { db, table } = this.#parts.store;
    const hashes = conditions.hashed.map(({ field }) => valueSql(field));
    const indexed = indexedConditions(conditions, await this.#parts.store.selectivity(space));
    const cost = costFor(space, this.#parts.cost);
    const columns = `${rowColumns}, [${hashes.join(', ')}] AS _hashes`;
    const where = conditionsSql(conditions);
    for (let limits: StatementLimits = { maxRows: cost.maxRows }; ; ) {
      const tail = `ORDER BY _id LIMIT ${limit} SETTINGS ${costOf(limits, space)}`;
      try {
        const rows = await db.rows<StoredRow & { _hashes: (string | null)[] }>({
          ...table.select(space.id, { columns, where, indexed, tail, ...limits }),
          signal,
          account: space.ownerId,
        });
        return rows.map((row) => ({ row, hashes: row._hashes }));
      } catch (error) {
        const next = nextLimits(error, limits);
        if (next === null) throw readError(error, space, conditions, cost);
        limits = next;
      }
    }
  }
}

function tooManyCandidates({ hashed }: Conditions): Error {
  const names = hashed.map(({ field }) => shownName(field.name)).join(', ');
  return invalidCondition([
    `Query field: ${names} is hashed, and the other conditions leave more than ${maxCandidates} records to check`,
  ]);
}
