import type { CostSample, CostWatch } from '../cost/watch-cost.ts';
import type { SecondCost } from './collector.ts';
import { ProcessCost } from './process-cost.ts';
import type { Cost } from './result.ts';

/** What a run costs the tool and the target, read each second. */
export class RunCost {
  readonly #tool = new ProcessCost();
  readonly #target: CostWatch | null;
  readonly #timer: NodeJS.Timeout;
  #toolCpu = 0;
  #last: CostSample | null = null;

  /** @param target null: it is not known */
  constructor(target: CostWatch | null) {
    this.#target = target;
    this.#timer = setInterval(() => void this.#read(), 1000);
  }

  /** Of the second that ended last. */
  get lastSecond(): SecondCost {
    return {
      toolCpu: this.#toolCpu,
      targetCpu: this.#last?.cpu ?? null,
      targetMemory: this.#last?.memory ?? null,
    };
  }

  /** Reads for the last time. @returns the cost of the run, and a warning if the target's is not whole */
  async end(): Promise<{ cost: Cost; problem: string | null }> {
    clearInterval(this.#timer);
    const tool = { cpu: this.#tool.cpu, memory: this.#tool.memory };
    await this.#target?.read();
    this.#target?.close();
    return { cost: { tool, target: this.#target?.total ?? null }, problem: this.#target?.problem ?? null };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#target?.close();
  }

  async #read(): Promise<void> {
    this.#toolCpu = this.#tool.sample();
    if (this.#target !== null) this.#last = await this.#target.read();
  }
}
