import type { HttpRequest } from '../../common/http/http-types.ts';

const names = ['parse', 'cache', 'engine'] as const;

/**
 * Where the time of one request went, in milliseconds, for who asks with `Sluice-Timing: true`: reading it, looking into
 * what is in memory, and the engine, up to the first record (https://www.w3.org/TR/server-timing/).
 */
export class Timing {
  readonly #spent = { parse: 0, cache: 0, engine: 0 };
  #since = performance.now();

  /** What passed since the last call, or the beginning, went there. */
  add(name: (typeof names)[number]): void {
    const now = performance.now();
    this.#spent[name] += now - this.#since;
    this.#since = now;
  }

  get headers(): Readonly<Record<string, string>> {
    return { 'server-timing': names.map((name) => `${name};dur=${this.#spent[name].toFixed(3)}`).join(', ') };
  }
}

/** Null: it was not asked for. */
export function timingOf(request: Pick<HttpRequest, 'header'>): Timing | null {
  return request.header('sluice-timing') === 'true' ? new Timing() : null;
}
