import { toProblem } from '../problem.ts';
import type { ImportRow } from './import-rows.ts';

export interface BadRow {
  readonly line: number;
  readonly problem: string;
}

export interface ImportReport {
  readonly stored: number;
  readonly badCount: number;
  /** The first of them. */
  readonly bad: readonly BadRow[];
  /** Why the import ended before the file did. */
  readonly stopped: { readonly problem: string; readonly unsure: readonly [number, number] | null } | null;
}

export interface ImportState {
  readonly report: ImportReport;
  readonly read: number;
  readonly over: boolean;
}

export interface ImportRecordsInput {
  readonly rows: AsyncIterable<ImportRow>;
  /** Stores all records of the body, a JSON array, or none. Rejects with a Problem. */
  readonly send: (body: string, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  readonly progress: (report: ImportReport) => void;
  readonly wait: (seconds: number) => Promise<void>;
  /** Hashed values take the service some milliseconds each. */
  readonly batchRecords: number;
}

const batchCharacters = 1_000_000;
const listedRows = 1000;
const tries = 6;

type GoodRow = Extract<ImportRow, { readonly text: string }>;

/** Why no more is sent; `unsure` when nobody knows whether the rows at hand are stored. */
class ImportStop extends Error {
  readonly unsure: boolean;
  constructor(problem: string, unsure: boolean) {
    super(problem);
    this.unsure = unsure;
  }
}

/** Sends rows in batches, and goes on without those that are refused: each of these is in the report with its line. */
export async function importRecords(input: ImportRecordsInput): Promise<ImportReport> {
  const run = new ImportRun(input);
  let batch: GoodRow[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    await run.store(batch);
    batch = [];
    size = 0;
  };
  try {
    for await (const row of input.rows) {
      if (input.signal.aborted) throw new ImportStop('You stopped the import.', false);
      if ('problem' in row) {
        run.refuse(row.line, row.problem);
        continue;
      }
      if (batch.length >= input.batchRecords || size + row.text.length > batchCharacters) await flush();
      batch.push(row);
      size += row.text.length;
    }
    await flush();
  } catch (error) {
    run.stop(error);
  }
  return run.report();
}

class ImportRun {
  readonly #input: ImportRecordsInput;
  readonly #bad: BadRow[] = [];
  #badCount = 0;
  #stored = 0;
  #sending: readonly GoodRow[] = [];
  #stopped: ImportReport['stopped'] = null;

  constructor(input: ImportRecordsInput) {
    this.#input = input;
  }

  report(): ImportReport {
    const bad = [...this.#bad].sort((a, b) => a.line - b.line);
    return { stored: this.#stored, badCount: this.#badCount, bad, stopped: this.#stopped };
  }

  refuse(line: number, problem: string): void {
    this.#badCount++;
    if (this.#bad.length < listedRows) this.#bad.push({ line, problem });
  }

  stop(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    const [first, last] = [this.#sending[0], this.#sending.at(-1)];
    const unsure = error instanceof ImportStop && error.unsure && first !== undefined && last !== undefined;
    this.#stopped = { problem, unsure: unsure ? [first.line, last.line] : null };
  }

  /** Stores the rows but for bad ones, which it finds by the index in the refusal, or else by halving. */
  async store(rows: readonly GoodRow[]): Promise<void> {
    const waiting = [rows];
    while (waiting.length > 0) {
      const part = waiting.pop() ?? [];
      if (part.length === 0) continue;
      const problems = await this.#send(part);
      if (problems === null) {
        this.#stored += part.length;
      } else {
        const byIndex = problemsByIndex(problems, part.length);
        if (part.length === 1) {
          this.refuse(part[0]?.line ?? 0, problems.join(' '));
        } else if (byIndex.size > 0) {
          for (const [index, problem] of byIndex) this.refuse(part[index]?.line ?? 0, problem);
          waiting.push(part.filter((_, index) => !byIndex.has(index)));
        } else {
          const middle = Math.ceil(part.length / 2);
          // the first half goes first: of two rows with one unique value the later one is the bad one
          waiting.push(part.slice(middle), part.slice(0, middle));
        }
      }
      this.#input.progress(this.report());
    }
  }

  /** Null when the rows are stored, or the problems for which they are refused. */
  async #send(rows: readonly GoodRow[]): Promise<readonly string[] | null> {
    const { send, signal, wait } = this.#input;
    this.#sending = rows;
    const body = `[${rows.map(({ text }) => text).join(',')}]`;
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw new ImportStop('You stopped the import.', false);
      try {
        await send(body, signal);
        return null;
      } catch (thrown) {
        const { status, message, details, retryAfter } = toProblem(thrown);
        const problems = details.length > 0 ? details : [message];
        if (status === 400 || status === 413) return problems;
        // the service says that nothing of the request was done, and when to come again
        const again = retryAfter !== undefined && (status === 429 || status === 503);
        if (!again || attempt === tries) {
          throw new ImportStop(problems.join(' '), status === 0 || status >= 500);
        }
        await wait(Math.min(retryAfter, 60));
      }
    }
  }
}

/** The service names a bad record of a request so: `… (record at index 3)`. */
function problemsByIndex(problems: readonly string[], count: number): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const problem of problems) {
    const match = /^(.*) \(record at index (\d+)\)$/s.exec(problem);
    const index = Number(match?.[2] ?? -1);
    if (match === null || index < 0 || index >= count) continue;
    found.set(index, [found.get(index), match[1]].filter(Boolean).join('. '));
  }
  return found;
}
