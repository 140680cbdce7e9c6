import { s3Error } from './s3-error.ts';

/** A query string taken apart, in the order received, percent-decoded. */
export class Query {
  readonly pairs: readonly (readonly [name: string, value: string])[];

  constructor(raw: string) {
    this.pairs = raw
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const equals = pair.indexOf('=');
        return equals === -1
          ? ([percentDecode(pair), ''] as const)
          : ([percentDecode(pair.slice(0, equals)), percentDecode(pair.slice(equals + 1))] as const);
      });
  }

  has(name: string): boolean {
    return this.pairs.some((pair) => pair[0] === name);
  }

  get(name: string): string | undefined {
    return this.pairs.find((pair) => pair[0] === name)?.[1];
  }

  /** A whole number within limits, or the fallback when the parameter is absent. */
  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.get(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) {
      throw s3Error('InvalidArgument', `${name} must be an integer between ${min} and ${max}`, {
        ArgumentName: name,
        ArgumentValue: value,
      });
    }
    return number;
  }
}

export function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw s3Error('InvalidURI', "Couldn't parse the specified URI.");
  }
}
