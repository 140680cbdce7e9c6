/** The result of a run: what `--json` writes, the page shows, and `compare` reads. Times are milliseconds unless said. */
export interface RunResult {
  readonly version: 1;
  readonly tool: string;
  readonly machine: string;
  readonly mix: { readonly name: string; readonly seed: number; readonly text: string };
  /** Without credentials. */
  readonly target: { readonly kind: string; readonly url: string };
  /** ISO 8601. */
  readonly began: string;
  readonly seconds: number;
  /** Of the phases that count. */
  readonly totals: Totals;
  readonly requests: readonly RequestResult[];
  readonly phases: readonly (Totals & {
    readonly name: string;
    readonly seconds: number;
    readonly counts: boolean;
    readonly offeredRate: number | null;
  })[];
  /** One each second. */
  readonly windows: readonly Window[];
  readonly live: LiveResult | null;
  readonly verified: Verification | null;
  readonly cost: Cost;
  /** Sentences that a reader must know before trusting a figure. */
  readonly warnings: readonly string[];
  readonly capacity: Capacity | null;
}

export interface Totals {
  readonly sent: number;
  readonly good: number;
  readonly failed: number;
  readonly perSecond: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** From the intended start. */
  readonly latency: Latency;
  /** From the real start. */
  readonly serviceTime: Latency;
  /** How often each word of refusal came. */
  readonly codes: Readonly<Record<string, number>>;
}

export interface RequestResult extends Totals {
  readonly name: string;
  readonly kind: string;
}

export interface LiveResult {
  readonly streams: number;
  readonly events: number;
  readonly lost: number;
  /** From the answer of a write to each event that tells of it, 0 if the event came first; null: no event was told from one. */
  readonly delay: Latency | null;
}

export interface Latency {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly mean: number;
  /** An HdrHistogram of microseconds, compressed, as base64. */
  readonly histogram: string;
}

export interface Window {
  /** Seconds since the beginning. */
  readonly at: number;
  readonly phase: string;
  readonly sent: number;
  readonly good: number;
  readonly failed: number;
  /** From the intended start; null when nothing was answered. */
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
  /** Share of one core. */
  readonly toolCpu: number;
  readonly targetCpu: number | null;
  readonly targetMemory: number | null;
  /** The largest delay of a start against the schedule. */
  readonly late: number;
}

export interface Verification {
  readonly checked: number;
  readonly bytes: number;
  /** A sentence for each lost, doubled or changed byte or record; at most a hundred. */
  readonly wrong: readonly string[];
}

export interface Cost {
  /** CPU seconds, and the largest resident bytes. */
  readonly tool: { readonly cpu: number; readonly memory: number };
  readonly target: { readonly cpu: number; readonly memory: number; readonly source: string } | null;
}

export interface Capacity {
  readonly goal: string;
  /** Requests a second that a confirmation met; null: none did, or the goal was never missed. */
  readonly rate: number | null;
  readonly steps: readonly {
    readonly rate: number;
    readonly seconds: number;
    readonly met: boolean;
    readonly why: string;
    readonly p99: number;
    readonly errors: number;
  }[];
}
