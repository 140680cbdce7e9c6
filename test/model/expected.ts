import type { ModelRecord } from './model-space.ts';

/** A refusal that the contract asks for. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** Texts of which each has to be found in a problem of its own. */
  readonly problems: readonly string[];
  /** There is nothing else to complain about. */
  readonly exactly?: boolean;
}

/** A record as it is shown at the moment of the answer. */
export interface ExpectedRecord {
  readonly record: ModelRecord;
  /** Names and the JSON text of values, in order. */
  readonly fields: readonly (readonly [string, string])[];
}

export type Expected =
  /** Where a request has several faults the contract leaves open which is named. */
  | { readonly kind: 'refused'; readonly any: readonly Refusal[] }
  | { readonly kind: 'record'; readonly record: ExpectedRecord | null }
  | { readonly kind: 'records'; readonly records: readonly ExpectedRecord[] }
  | { readonly kind: 'login'; readonly user: ExpectedRecord }
  | { readonly kind: 'json'; readonly value: unknown };

/** Ends a call of the model with a refusal. */
export class Refused extends Error {
  readonly any: readonly Refusal[];

  constructor(any: readonly Refusal[]) {
    super(any.map(({ code }) => code).join());
    this.any = any;
  }
}

export function refusal(code: string, problems: readonly string[] = [], status = 400): Refusal {
  return { status, code, problems };
}

export function throwAny(any: readonly Refusal[]): void {
  if (any.length > 0) throw new Refused(any);
}
