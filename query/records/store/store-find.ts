import type { ReadPlan } from '../input/read-plan.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/** One find, as a store sees it. `RecordFind` makes its answer. */
export class StoreFind {
  readonly space: RecordSpace;
  /** With the conditions of the rules that bind the request. */
  readonly plan: ReadPlan;
  readonly signal: AbortSignal;
  /** Of a statement that several finds share, as `StreamStatement` has them. */
  settings = '';
  readonly timeout: number | undefined;
  /** How the engine finds the records; the store sets it. Null: it does not know yet. */
  source: 'index' | 'scan' | null = null;
  #isOver = false;
  #end: (() => void) | null = null;

  constructor(space: RecordSpace, plan: ReadPlan, signal: AbortSignal) {
    this.space = space;
    this.plan = plan;
    this.signal = signal;
    this.timeout = space.limits?.timeout;
  }

  /** Resolves when the request has its answer. */
  over(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  protected end(): void {
    this.#isOver = true;
    this.#end?.();
  }
}
