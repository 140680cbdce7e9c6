import { invalidCondition } from '../errors/catalogue.ts';
import type { QueryPairs } from './http-types.ts';

/** How many entries a page of a list has. */
export const listLimits = { usual: 50, most: 200 } as const;

const dayPattern = /^(19[7-9]\d|2[01]\d\d)-\d\d-\d\d$/;
// RFC 3339 section 5.6
const momentPattern = /^(19[7-9]\d|2[01]\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const dayLength = 24 * 3600 * 1000;

/** The query of a list: its parameters one by one, and a 400 that names everything that is wrong with them. */
export class ListQuery {
  readonly #values = new Map<string, string>();
  readonly #problems: string[] = [];

  /** @param names that the list knows */
  constructor(query: QueryPairs, names: readonly string[]) {
    for (const [name, value] of query) {
      if (!names.includes(name)) {
        this.refuse(`${JSON.stringify(name.slice(0, 80))} is none of the parameters: ${names.join(', ')}`);
      } else if (this.#values.has(name)) this.refuse(`${name} should be there once`);
      else this.#values.set(name, value);
    }
  }

  refuse(problem: string): void {
    if (this.#problems.length < 10) this.#problems.push(problem);
  }

  /** Throws when anything was refused. */
  finish(): void {
    if (this.#problems.length > 0) throw invalidCondition(this.#problems);
  }

  text(name: string, problemOf: (text: string) => string | null): string | undefined {
    const text = this.#values.get(name);
    const problem = text === undefined ? null : problemOf(text);
    if (problem !== null) this.refuse(`${name} ${problem}`);
    return text;
  }

  /** One of a few words. */
  choice<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const text = this.#values.get(name);
    const word = words.find((word) => word === text);
    if (text !== undefined && word === undefined) this.refuse(`${name} should be ${words.join(' or ')}`);
    return word;
  }

  limit(): number {
    const { usual, most } = listLimits;
    const text = this.#values.get('limit') ?? String(usual);
    const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (limit < 1 || limit > most) this.refuse(`limit should be a whole number from 1 to ${most}`);
    return limit;
  }

  /** The first moment that counts: of a day its beginning, in UTC. */
  from(name: string): Date | undefined {
    return this.#moment(name)?.start;
  }

  /** The last moment that counts: of a day its end, in UTC. */
  to(name: string): Date | undefined {
    return this.#moment(name)?.end;
  }

  /** The day itself, as it stands. */
  day(name: string): string | undefined {
    const text = this.#values.get(name);
    if (text === undefined || isDay(text)) return text;
    this.refuse(`${name} should be a day such as 2026-11-22`);
    return undefined;
  }

  #moment(name: string): { readonly start: Date; readonly end: Date } | undefined {
    const text = this.#values.get(name);
    if (text === undefined) return undefined;
    if (isDay(text)) {
      const start = new Date(text);
      return { start, end: new Date(start.getTime() + dayLength - 1) };
    }
    const time = momentPattern.test(text) ? new Date(text) : new Date(Number.NaN);
    if (!Number.isNaN(time.getTime())) return { start: time, end: time };
    this.refuse(`${name} should be a day or a time such as 2026-11-22T10:00:00Z`);
    return undefined;
  }
}

function isDay(text: string): boolean {
  if (!dayPattern.test(text)) return false;
  const time = new Date(text);
  // 30 February is read as a day in March by some
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}
