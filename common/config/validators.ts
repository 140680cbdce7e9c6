/** Collects what is wrong with a set of environment variables, so that all of it is reported at once. */
export class EnvReader {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly problems: string[] = [];
  /** Names that were asked for. */
  readonly known = new Set<string>();

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  /** The variable's text; an empty one counts as not set. */
  text(key: string): string | undefined {
    this.known.add(key);
    const value = this.#env[key];
    return value === undefined || value === '' ? undefined : value;
  }

  integer(key: string, fallback: number, min: number, max: number): number {
    const text = this.text(key);
    if (text === undefined) return fallback;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      this.problems.push(
        `${key} is ${JSON.stringify(text)}: it should be a whole number from ${min} to ${max}`,
      );
      return fallback;
    }
    return value;
  }

  boolean(key: string, fallback: boolean): boolean {
    const text = this.text(key);
    if (text === undefined) return fallback;
    if (text === 'true' || text === '1') return true;
    if (text === 'false' || text === '0') return false;
    this.problems.push(`${key} is ${JSON.stringify(text)}: it should be true or false`);
    return fallback;
  }

  oneOf<T extends string>(key: string, fallback: T, allowed: readonly T[]): T {
    const text = this.text(key);
    if (text === undefined) return fallback;
    const match = allowed.find((value) => value === text);
    if (match === undefined) {
      this.problems.push(`${key} is ${JSON.stringify(text)}: it should be one of ${allowed.join(', ')}`);
      return fallback;
    }
    return match;
  }

  /** A comma-separated list; each item is trimmed and checked. */
  list(key: string, fallback: readonly string[], check: (item: string) => string | null): readonly string[] {
    const text = this.text(key);
    if (text === undefined) return fallback;
    const items = text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    for (const item of items) {
      const problem = check(item);
      if (problem !== null) this.problems.push(`${key} has ${JSON.stringify(item)}: ${problem}`);
    }
    return items;
  }

  /** An absolute http(s) URL without query or fragment; no trailing slash in the result. */
  baseUrl(key: string): string | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
      this.problems.push(
        `${key} is ${JSON.stringify(text)}: it should be an http or https address without query`,
      );
      return undefined;
    }
    return text.replace(/\/+$/, '');
  }
}
