import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import { affordable, costFor, costOf, type ReadCost, type StatementLimits } from './affordable.ts';
import type { Candidates } from './candidates.ts';
import type { ReadPlan } from './input/read-plan.ts';
import { isSearch, tailOf, whereOf, withinRows } from './plan-sql.ts';
import { ruledPlan } from './ruled.ts';
import type { ExportColumns } from './sql/export-columns.ts';
import type { RecordStore } from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';

interface Deps {
  readonly store: RecordStore;
  readonly candidates: Candidates;
  /** The bound of one statement. */
  readonly cost: ReadCost;
  readonly count: (source: ReadSource) => void;
}

export class RecordExports {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * The bytes of all records of a plan, by one statement of their own: each record is there once, however much is written
   * meanwhile. Rejects when the statement fails before its first bytes, with a 422 when it would cost too much.
   */
  async read(
    space: RecordSpace,
    given: ReadPlan,
    { columns, format, settings }: ExportColumns,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const { store, candidates, count } = this.#deps;
    const plan = ruledPlan(space, given);
    const narrowed = (await candidates.narrow(space, plan.conditions, signal)) ?? { where: 'false' };
    count(narrowed.keyed?.length ? 'index' : 'scan');
    const selection = { ...narrowed, where: whereOf(narrowed, plan), columns, tail: tailOf(plan) };
    const read = (limits: StatementLimits) =>
      store.db.stream({
        ...store.table.select(space.id, { ...selection, ...limits }),
        ...{ format, signal, account: space.ownerId, timeout: space.limits?.timeout },
        settings: [settings, costOf(limits)].filter(Boolean).join(', '),
      });
    if (!isSearch(plan)) return read({ maxRows: null });
    const cost = costFor(space, this.#deps.cost);
    return affordable(space, given.conditions, cost, () => withinRows(plan, cost.maxRows, read));
  }
}
