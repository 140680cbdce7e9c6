import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import type { ReadTrace } from '#records/input/read-plan.ts';

const names = ['parse', 'cache', 'engine'] as const;

/**
 * The time of one request, in milliseconds, for clients that send `Sluice-Timing: true`: reading the request, searching
 * memory, and waiting for the engine, up to the first record (https://www.w3.org/TR/server-timing/).
 */
export class Timing implements ReadTrace {
  readonly #spent = { parse: 0, cache: 0, engine: 0 };
  #since = 0;
  source: ReadSource | null = null;

  /** Starts the clock of the next part. */
  begin(): void {
    this.#since = performance.now();
  }

  /** Adds the time since the last call to this part. */
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
