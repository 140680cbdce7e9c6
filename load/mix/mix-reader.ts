import type { LocatedJson } from './located-json.ts';
import { MixProblem } from './mix-problem.ts';

const unitsOfBytes: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
const unitsOfTime: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000 };

/** Of a pause at most: a day. Milliseconds. */
const longestPause = 86_400_000;

/** Reads the keys of one object of a mix file; null is as if a key were left out. Each failure names the line and the key. */
export class MixReader {
  readonly #file: string;
  readonly #json: LocatedJson;
  readonly #path: string;
  readonly #object: Readonly<Record<string, unknown>>;

  constructor(file: string, json: LocatedJson, path = '', value: unknown = json.value) {
    this.#file = file;
    this.#json = json;
    this.#path = path;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw this.#problemAt(path, `${path === '' ? 'the file' : path} must be an object`);
    this.#object = value as Readonly<Record<string, unknown>>;
  }

  has(key: string): boolean {
    return (this.#object[key] ?? undefined) !== undefined;
  }

  /** Fails for keys that are none of these. */
  only(keys: readonly string[]): void {
    for (const key of Object.keys(this.#object)) {
      if (keys.includes(key)) continue;
      throw this.#problemAt(
        this.#pathOf(key),
        `there is no key ${this.#pathOf(key)}, only ${keys.join(', ')}`,
      );
    }
  }

  text(key: string, standard?: string): string {
    return this.#read(key, standard, 'a text', (value) => (typeof value === 'string' ? value : undefined));
  }

  bool(key: string, standard?: boolean): boolean {
    return this.#read(key, standard, 'true or false', (value) =>
      typeof value === 'boolean' ? value : undefined,
    );
  }

  /** @param allowed as `a number above 0` */
  number(key: string, allowed: string, isRight: (value: number) => boolean, standard?: number): number {
    return this.#read(key, standard, allowed, (value) =>
      typeof value === 'number' && isRight(value) ? value : undefined,
    );
  }

  count(key: string, least: number, standard?: number, most = Number.MAX_SAFE_INTEGER): number {
    const isRight = (value: number): boolean =>
      Number.isSafeInteger(value) && value >= least && value <= most;
    const end = most === Number.MAX_SAFE_INTEGER ? 'up' : `to ${most}`;
    return this.number(key, `a whole number from ${least} ${end}`, isRight, standard);
  }

  /** Fails for a name that one before it has. @param taken gets the name */
  distinct(key: string, name: string, taken: Set<string>): void {
    if (taken.has(name)) throw this.problem(key, `a name that none before it has: ${name} is taken`);
    taken.add(name);
  }

  /** A number of bytes, also as "64 KiB". */
  bytes(key: string): number {
    const allowed = 'a size such as 2048 or "64 KiB"';
    return this.#quantity(key, unitsOfBytes, { allowed, isRight: Number.isSafeInteger });
  }

  /** Milliseconds, also as "2 s". */
  milliseconds(key: string, standard: number): number {
    const isRight = (value: number): boolean => value <= longestPause;
    return this.#quantity(key, unitsOfTime, { allowed: 'a time such as 100 or "100 ms"', isRight, standard });
  }

  oneOf<Value extends string>(key: string, values: readonly Value[], standard?: Value): Value {
    const allowed = `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
    return this.#read(key, standard, allowed, (value) => values.find((one) => one === value));
  }

  texts(key: string, standard?: readonly string[]): readonly string[] {
    return this.#read(key, standard, 'a list of texts', (value) =>
      Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined,
    );
  }

  counts(key: string): readonly number[] {
    return this.#read(key, undefined, 'a list of numbers', (value) =>
      Array.isArray(value) && value.every((item) => Number.isSafeInteger(item)) ? value : undefined,
    );
  }

  textsByName(key: string): Readonly<Record<string, string>> {
    return this.#read(key, {}, 'an object of texts', (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every((item) => typeof item === 'string')
        ? { ...(value as Record<string, string>) }
        : undefined,
    );
  }

  /** The objects of a list; of a list that is missing none. */
  objects<Item>(key: string, read: (item: MixReader, index: number) => Item): Item[] {
    const list = this.#read<readonly unknown[]>(key, [], 'a list', (value) =>
      Array.isArray(value) ? value : undefined,
    );
    return list.map((value, index) => {
      const path = `${this.#pathOf(key)}[${index}]`;
      return read(new MixReader(this.#file, this.#json, path, value), index);
    });
  }

  /** @returns the error that the value of a key is not what is allowed */
  problem(key: string, allowed: string): MixProblem {
    const path = this.#pathOf(key);
    const value = this.#object[key];
    if (!this.has(key)) return this.#problemAt(this.#path, `${path} is missing, and must be ${allowed}`);
    return this.#problemAt(path, `${path} is ${shown(value)}, and must be ${allowed}`);
  }

  #quantity(
    key: string,
    units: Readonly<Record<string, number>>,
    of: { readonly allowed: string; isRight(value: number): boolean; readonly standard?: number },
  ): number {
    return this.#read(key, of.standard, of.allowed, (value) => {
      const quantity = typeof value === 'number' ? value : quantityOf(String(value), units);
      return quantity >= 0 && of.isRight(quantity) ? quantity : undefined;
    });
  }

  #read<Value>(
    key: string,
    standard: Value | undefined,
    allowed: string,
    accept: (value: unknown) => Value | undefined,
  ): Value {
    const value = this.#object[key] ?? undefined;
    if (value === undefined && standard !== undefined) return standard;
    const accepted = value === undefined ? undefined : accept(value);
    if (accepted === undefined) throw this.problem(key, allowed);
    return accepted;
  }

  #pathOf(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  #problemAt(path: string, sentence: string): MixProblem {
    return new MixProblem(this.#file, this.#json.lines.get(path) ?? null, sentence);
  }
}

/** @returns NaN for what is no quantity */
function quantityOf(text: string, units: Readonly<Record<string, number>>): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?) ?([A-Za-z]+)$/.exec(text) ?? [];
  return Math.round(Number(amount) * ((Object.hasOwn(units, unit) && units[unit]) || Number.NaN));
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
