import type { FaultAction } from './fault-rules.ts';
import type { OperationName } from './operation-name.ts';

export interface LoggedRequest {
  /** Null when it was none that the stub knows. */
  readonly operation: OperationName | null;
  readonly key: string;
  readonly uploadId: string | undefined;
  readonly partNumber: number | undefined;
  /** Null while it is under way, and for ever when no answer went out. */
  readonly status: number | null;
  /** The error code of the answer. */
  readonly code: string | null;
  readonly faults: readonly FaultAction['kind'][];
}

/** The latest requests, oldest first, and counts of all. */
export class RequestLog {
  readonly requests: LoggedRequest[] = [];
  readonly #counts = new Map<OperationName | 'unknown', number>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Answers a function that notes how the request ended. */
  add(request: Omit<LoggedRequest, 'status' | 'code'>): (status: number | null, code: string | null) => void {
    const entry = { ...request, status: null as number | null, code: null as string | null };
    this.requests.push(entry);
    // by halves, so that a long benchmark doesn't move the whole list for each request
    if (this.requests.length >= this.#limit * 2) this.requests.splice(0, this.#limit);
    const name = request.operation ?? 'unknown';
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return (status, code) => {
      entry.status = status;
      entry.code = code;
    };
  }

  counts(): Partial<Record<OperationName | 'unknown', number>> {
    return Object.fromEntries(this.#counts);
  }
}
