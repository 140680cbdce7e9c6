import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import type { ReadTrace } from '#records/input/read-plan.ts';

const names = ['parse', 'cache', 'engine'] as const;

/**
 * The time of one request, in milliseconds, for clients that ask with `Sluice-Timing: true`: for reading it, for the
 * search in memory, and for the engine, up to the first record (https://www.w3.org/TR/server-timing/).
 */
export class Timing implements ReadTrace {
  readonly #spent = { parse: 0, cache: 0, engine: 0 };
  #since = 0;
  source: ReadSource | null = null;

  /** To be called where a part begins. */
  begin(): void {
    this.#since = performance.now();
  }

  /** Counts the time since the last call for this part. */
  add(name: (typeof names)[number]): void {
    const now = performance.now();
    this.#spent[name] += now - this.#since;
    this.#since = now;
  }

  get headers(): Readonly<Record<string, string>> {
    const spent = names.map((name) => `${name};dur=${this.#spent[name].toFixed(3)}`);
    const source = this.source === null ? [] : [`source;desc="${this.source}"`];
    return { 'server-timing': [...spent, ...source].join(', ') };
  }
}
