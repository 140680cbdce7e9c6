import { address } from '../address.ts';
import { callApi, callJson } from '../api.ts';
import { sendBytes } from '../files/send-file.ts';
import { mayRetry } from '../files/send-in-chunks.ts';
import { isAbort, Problem, toProblem } from '../problem.ts';
import type { Field } from '../projects/structure.ts';
import { jsonOf } from '../session.ts';

/** Formats of the service, by file name extension. */
const formats: Readonly<Record<string, string>> = {
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  json: 'json',
  jsonl: 'ndjson',
  ndjson: 'ndjson',
  parquet: 'parquet',
  arrow: 'arrow',
  feather: 'arrow',
};

export const acceptedFiles = [...Object.keys(formats), 'gz'].map((end) => `.${end}`);

export interface ImportProblem {
  /** Line of the file, from 1; null: no single line. */
  readonly line: number | null;
  readonly field: string | null;
  readonly reason: string;
}

/** The response to `dryRun`. */
export interface ImportPreview {
  /** The stored structure, or an inferred one if the space has no fields. */
  readonly structure: { readonly recordStructure: readonly Field[] };
  /** `field`: a slug; null: no field. */
  readonly columns: readonly { readonly name: string; readonly field: string | null }[];
  readonly rows: readonly { readonly line: number; readonly values: readonly unknown[] }[];
  /** Number of examined records. */
  readonly records: number;
  readonly problems: readonly ImportProblem[];
  /** On columns that are text, and nearly of another type. */
  readonly remarks: readonly { readonly column: string; readonly reason: string }[];
  /** By these more columns get a type. */
  readonly suggested: Readonly<Record<CellChoice, string | null>>;
}

/** What cells mean: words of CSV for no value and for true, its character before a fraction, and the zone of times that have none. */
export const cellChoices = ['nulls', 'true', 'decimal', 'timeZone'] as const;
export type CellChoice = (typeof cellChoices)[number];
export type CellChoices = { readonly [name in CellChoice]?: string };

/** A job of the service; `uploading`: the file is still being sent. */
export interface ImportJob {
  readonly state: 'uploading' | 'waiting' | 'running' | 'publishing' | 'done' | 'failed' | 'cancelled';
  readonly bytes: number;
  /** Sent bytes while uploading. */
  readonly bytesRead: number;
  readonly records: number;
  readonly skipped: number;
  readonly inserted: number;
  readonly perSecond: number | null;
  /** The first ones; `problemCount` counts all. */
  readonly problems: readonly ImportProblem[];
  readonly problemCount: number;
  readonly error: string | null;
}

export interface ImportOrder {
  readonly onError: 'stop' | 'skip';
  /** Of CSV. */
  readonly unescapeFormulas: 'true' | 'false';
  readonly cells: CellChoices;
  /** The field of each column whose name does not match; null: ignore the column. */
  readonly columns: Readonly<Record<string, string | null>>;
}

/** For a file that can't be previewed without sending most of it. */
export const noPreview: ImportPreview = {
  structure: { recordStructure: [] },
  columns: [],
  rows: [],
  records: 0,
  problems: [],
  remarks: [],
  suggested: { nulls: null, true: null, decimal: null, timeZone: null },
};

/** This much of a text is enough for a preview. */
const beginningBytes = 512 * 1024;
/** Parquet and Arrow have their index at the end: a preview needs the whole file. */
const largestWhole = 64 * 1024 * 1024;
const timeoutMs = 120_000;
const followEveryMs = 500;

const headers = { 'auto-create-record-space': 'false' };

/** Throws a Problem for an unknown extension. */
export function formatOf(name: string): string {
  const end = /\.([^.]+?)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = Object.hasOwn(formats, end) ? formats[end] : undefined;
  if (format !== undefined) return format;
  throw new Problem(
    /^(?:xlsx?|ods|numbers)$/.test(end)
      ? 'This is a spreadsheet file. Save it as “CSV UTF-8” in your spreadsheet program, then import that file.'
      : `Files of this kind can’t be imported. Supported: ${acceptedFiles.join(', ')}.`,
  );
}

/** A preview of the first records by the service. */
export async function previewFile(
  path: string,
  file: File,
  { unescapeFormulas, cells }: Pick<ImportOrder, 'unescapeFormulas' | 'cells'>,
  signal: AbortSignal,
): Promise<ImportPreview> {
  const format = formatOf(file.name);
  const isTable = format === 'parquet' || format === 'arrow';
  if (isTable && file.size > largestWhole) return noPreview;
  const isWhole = isTable || file.size <= beginningBytes;
  const query = { format, dryRun: isWhole ? 'true' : 'start', unescapeFormulas, ...cells };
  const body = isWhole ? file : file.slice(0, beginningBytes);
  const call = { method: 'POST', headers, query, body, signal, timeoutMs };
  const answer = await jsonOf<ImportPreview>(await callApi(path, call));
  const { suggested } = answer;
  // the service knows that there is none, and the browser which one is likely
  const timeZone = suggested.timeZone && Intl.DateTimeFormat().resolvedOptions().timeZone;
  const preview = { ...answer, suggested: { ...suggested, timeZone } };
  // the first record may be larger than the piece
  return !isWhole && preview.columns.length + preview.problems.length === 0 ? noPreview : preview;
}

/** @param key the same for each attempt, so that a lost response does not lead to a second import */
export interface ImportCall extends ImportOrder {
  readonly path: string;
  readonly file: File;
  readonly key: string;
}

/** A job before the service has the file. */
export function localJob(state: 'uploading' | 'cancelled', { size }: File, sent: number): ImportJob {
  return {
    state,
    bytes: size,
    bytesRead: sent,
    records: 0,
    skipped: 0,
    inserted: 0,
    perSecond: null,
    problems: [],
    problemCount: 0,
    error: null,
  };
}

/** Sends a file, and shows its job until it ends. An abort cancels the job, unless it comes too late. */
export async function runImport(
  { path, file, key, columns, cells, ...choices }: ImportCall,
  signal: AbortSignal,
  show: (job: ImportJob) => void,
): Promise<void> {
  const options = { ...choices, ...cells, format: formatOf(file.name), columns: JSON.stringify(columns) };
  const query = new URLSearchParams(options);
  const sentHeaders = { ...headers, 'idempotency-key': key };
  const upload = new AbortController();
  let sent = 0;
  // once the server has the whole file, wait for the id of the job to cancel
  signal.addEventListener('abort', () => {
    if (sent < file.size) upload.abort();
  });
  try {
    signal.throwIfAborted();
    const { responseText } = await sendBytes(
      { method: 'POST', path: `${path}?${query}`, headers: sentHeaders, body: file, file, size: file.size },
      {
        signal: upload.signal,
        onProgress(bytes) {
          sent = bytes;
          show(localJob('uploading', file, sent));
        },
      },
    );
    const { id } = JSON.parse(responseText) as { readonly id: string };
    await followJob(address`/_jobs_/${id}`, signal, show);
  } catch (thrown) {
    if (!isAbort(thrown)) throw thrown;
    show(localJob('cancelled', file, sent));
  }
}

async function followJob(path: string, signal: AbortSignal, show: (job: ImportJob) => void): Promise<void> {
  for (;;) {
    try {
      const job = await callJson<ImportJob>(path, { method: signal.aborted ? 'DELETE' : 'GET' });
      show(job);
      if (isOver(job)) return;
    } catch (thrown) {
      // the import continues while the connection is down
      if (!mayRetry(toProblem(thrown))) throw thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, followEveryMs));
  }
}

export function isOver({ state }: ImportJob): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}
