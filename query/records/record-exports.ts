import type { ReadPlan } from './input/read-plan.ts';
import { isSearch, mayEndEarly, tailOf, whereOf } from './plan-sql.ts';
import { costFor, costOf, nextLimits, readError, type StatementLimits } from './read-cost.ts';
import type { ReadParts } from './record-find.ts';
import { ruledPlan } from './ruled.ts';
import type { ExportColumns } from './sql/export-columns.ts';
import type { RecordSpace } from './structure/record-space.ts';

export class RecordExports {
  readonly #parts: ReadParts;

  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /**
   * The bytes of all records of a plan, read by one statement: each record appears once, however much is written
   * meanwhile. Rejects when the statement fails before its first bytes, with a 422 when it would cost too much.
   */
  async read(
    space: RecordSpace,
    given: ReadPlan,
    { columns, format, settings }: ExportColumns,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const { store, candidates, count } = this.#parts;
    const plan = ruledPlan(space, given);
    const narrowed = (await candidates.narrow(space, plan.conditions, signal)) ?? { where: 'false' };
    count(narrowed.indexed?.length ? 'index' : 'scan');
    const selection = { ...narrowed, where: whereOf(narrowed, plan), columns, tail: tailOf(plan) };
    const cost = costFor(space, this.#parts.cost);
    for (let limits: StatementLimits = { maxRows: isSearch(plan) ? cost.maxRows : null }; ; ) {
      try {
        return await store.db.stream({
          ...store.table.select(space.id, { ...selection, ...limits }),
          format,
          signal,
          account: space.ownerId,
          timeout: space.limits?.timeout,
          settings: [settings, costOf(limits)].filter(Boolean).join(', '),
        });
      } catch (error) {
        const next = mayEndEarly(plan) ? nextLimits(error, limits) : null;
        if (next !== null) limits = next;
        else throw limits.maxRows === null ? error : readError(error, space, given.conditions, cost);
      }
    }
  }
}
