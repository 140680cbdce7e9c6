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

/** All requests, oldest first, and how many of each operation. */
export class RequestLog {
  readonly requests: LoggedRequest[] = [];
  readonly #counts = new Map<OperationName | 'unknown', number>();
  /** Answers a function that notes how the request ended. */
  add(request: Omit<LoggedRequest, 'status' | 'code'>): (status: number | null, code: string | null) => void {
    const entry = { ...request, status: null as number | null, code: null as string | null };
    this.requests.push(entry);
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
