import { within } from '../http/within.ts';
import type { Cost } from '../run/result.ts';
import { metricsCost } from './metrics-cost.ts';
import { procCost } from './proc-cost.ts';
import { psCost } from './ps-cost.ts';
import type { ReadCost, Reading } from './reading.ts';

/** Of a target on this machine its process, of any other the address of its metrics. */
export type CostOptions =
  | { readonly pid: number }
  | {
      readonly metrics: string;
      readonly token?: string | undefined;
    };

/** What a target used since the last time. */
export interface CostSample {
  /** Share of one core. */
  readonly cpu: number;
  /** Resident bytes. */
  readonly memory: number;
}

/** Milliseconds that a reading may take. */
const patience = 2000;

/**
 * Starts to watch what the target uses, with all of its processes.
 * Rejects with a sentence when it can't be read.
 */
export async function watchCost(options: CostOptions): Promise<CostWatch> {
  const source = 'pid' in options ? `pid ${options.pid}` : options.metrics;
  const watch = new CostWatch(readerOf(options), source);
  await watch.begin();
  return watch;
}

function readerOf(options: CostOptions): ReadCost {
  if ('metrics' in options) return metricsCost(options.metrics, options.token);
  return process.platform === 'linux' ? procCost(options.pid) : psCost(options.pid);
}

export class CostWatch {
  readonly #readCost: ReadCost;
  readonly #source: string;
  readonly #closing = new AbortController();
  #last: Reading = { cpu: 0, memory: 0 };
  #lastTime = 0;
  #reading: Promise<CostSample | null> | null = null;
  #cpu = 0;
  #memory = 0;
  #problem: string | null = null;

  constructor(readCost: ReadCost, source: string) {
    this.#readCost = readCost;
    this.#source = source;
  }

  async begin(): Promise<void> {
    try {
      this.#keep(await this.#readOnce());
    } catch (error) {
      throw new Error(`the target's CPU is not known: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Null: it could not be read; `problem` says why. While a reading is on its way, no other begins. */
  read(): Promise<CostSample | null> {
    this.#reading ??= this.#sample().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** What it used since the beginning, and the most memory. */
  get total(): NonNullable<Cost['target']> {
    return { cpu: this.#cpu, memory: this.#memory, source: this.#source };
  }

  /** Why the last reading that failed did, as a sentence. Null: none did. */
  get problem(): string | null {
    return this.#problem;
  }

  close(): void {
    this.#closing.abort(new Error('closed'));
  }

  async #sample(): Promise<CostSample | null> {
    const [before, timeBefore] = [this.#last, this.#lastTime];
    try {
      this.#keep(await this.#readOnce());
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#problem = `The target's CPU was not always known: ${reasonOf(error)}.`;
      return null;
    }
    // less than before: it was started again
    const cpu = Math.max(0, this.#last.cpu - before.cpu);
    this.#cpu += cpu;
    return { cpu: cpu / Math.max(1e-3, (this.#lastTime - timeBefore) / 1000), memory: this.#last.memory };
  }

  #readOnce(): Promise<Reading> {
    return within(this.#closing.signal, patience, this.#readCost);
  }

  #keep(reading: Reading): void {
    this.#last = reading;
    this.#lastTime = performance.now();
    this.#memory = Math.max(this.#memory, reading.memory);
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  // fetch says `fetch failed`, and its cause why
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
