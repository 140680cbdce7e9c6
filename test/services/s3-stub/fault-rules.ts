import type { OperationName } from './operations.ts';

/**
 * When a fault strikes: before the body is read, after it was read but before anything is done, or after the work
 * was really done, so that the client can't know.
 */
export type FaultStage = 'before-body' | 'after-body' | 'after-work';

export type FaultAction =
  /** An error answer, such as 500 InternalError or 503 SlowDown. Stage: after-body unless given. */
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly code: string;
      readonly message?: string;
      readonly stage?: FaultStage;
    }
  /** Status 200 and then an <Error>, as CompleteMultipartUpload may answer. Stage: after-body unless given. */
  | { readonly kind: 'error-in-ok'; readonly code: string; readonly stage?: FaultStage }
  /** Goes on after a while. Stage: before-body unless given. */
  | { readonly kind: 'delay'; readonly ms: number; readonly stage?: FaultStage }
  /** Never answers, until the client or the stub closes. Stage: before-body unless given. */
  | { readonly kind: 'hang'; readonly stage?: FaultStage }
  /** Cuts the connection with RST. Stage: after-body unless given. */
  | { readonly kind: 'reset'; readonly stage?: FaultStage }
  /** Cuts it with RST once so many bytes of the request body have come, or at its end when it is shorter. */
  | { readonly kind: 'reset-in-body'; readonly bytes: number }
  /** Does the work, answers so many bytes of the answer's body (half of it unless given), and closes. */
  | { readonly kind: 'truncate'; readonly bytes?: number }
  /** Closes the connection without an answer, as a server that stops does. Stage: after-body unless given. */
  | { readonly kind: 'close'; readonly stage?: FaultStage }
  /** Does the work, and answers half of the document, with the length of the half. */
  | { readonly kind: 'cut' };

export interface FaultRule {
  /** Any operation when left out. */
  readonly operation?: OperationName;
  readonly key?: string | RegExp;
  readonly partNumber?: number;
  /** Spares so many matching requests first. */
  readonly after?: number;
  /** Strikes at most so often; without an end when left out. */
  readonly times?: number;
  /** Strikes each time with this chance, 1 when left out. */
  readonly probability?: number;
  readonly action: FaultAction;
}

export interface Fault {
  /** Requests that matched. */
  readonly seen: number;
  /** How often it struck. */
  readonly hits: number;
  remove(): void;
}

export interface FaultTarget {
  readonly operation: OperationName;
  readonly key: string;
  readonly partNumber: number | undefined;
}

export class FaultRules {
  readonly #active = new Set<{ rule: FaultRule; seen: number; hits: number }>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  add(rule: FaultRule): Fault {
    const entry = { rule, seen: 0, hits: 0 };
    this.#active.add(entry);
    return {
      get seen() {
        return entry.seen;
      },
      get hits() {
        return entry.hits;
      },
      remove: () => void this.#active.delete(entry),
    };
  }

  clear(): void {
    this.#active.clear();
  }

  /** What strikes this request, in the order of the rules; each is counted. */
  take(target: FaultTarget): FaultAction[] {
    const actions: FaultAction[] = [];
    for (const entry of this.#active) {
      const { rule } = entry;
      if (!matches(rule, target)) continue;
      entry.seen++;
      if (entry.seen <= (rule.after ?? 0) || entry.hits >= (rule.times ?? Number.POSITIVE_INFINITY)) continue;
      if (rule.probability !== undefined && this.#random() >= rule.probability) continue;
      entry.hits++;
      actions.push(rule.action);
    }
    return actions;
  }
}

function matches(rule: FaultRule, target: FaultTarget): boolean {
  if (rule.operation !== undefined && rule.operation !== target.operation) return false;
  if (rule.partNumber !== undefined && rule.partNumber !== target.partNumber) return false;
  if (rule.key === undefined) return true;
  return typeof rule.key === 'string' ? rule.key === target.key : rule.key.test(target.key);
}
