import { type Abortable, pathOf } from './ask.ts';
import { attemptWith } from './attempt-with.ts';
import { type Client, json, SluiceError, send, sleep } from './client.ts';
import type { ExportFormat } from './export-file.ts';
import { queryOf } from './query-of.ts';
import { randomKey } from './random-key.ts';
import type { Fields, Space } from './space.ts';
import type { UpsertOptions } from './write.ts';

/** The progress of an import (docs/import-export.md, "Jobs"). */
export interface ImportJob {
  readonly id: string;
  readonly state: 'waiting' | 'running' | 'publishing' | 'done' | 'failed' | 'cancelled';
  readonly bytes: number;
  readonly bytesRead: number;
  readonly records: number;
  readonly skipped: number;
  readonly updated: number;
  readonly inserted: number;
  readonly problems: readonly {
    readonly line: number | null;
    readonly field: string | null;
    readonly reason: string;
  }[];
  readonly problemCount: number;
  readonly error: string | null;
}

export interface ImportOptions<Of extends Fields> extends Abortable {
  /** Content type, such as `text/csv`. By default the type of a Blob. */
  readonly type?: string;
  readonly format?: ExportFormat;
  /** `skip` leaves out records with problems; by default nothing of such a file is stored. */
  readonly onError?: 'stop' | 'skip';
  readonly onConflict?: Omit<UpsertOptions<Of>, 'signal'>;
  /** The field of each column; null: left out. */
  readonly columns?: Readonly<Record<string, (keyof Of & string) | null>>;
  readonly onProgress?: (job: ImportJob) => void;
}

/** Milliseconds between two polls of a job. */
const pause = 500;

/**
 * Imports the records of a file, and waits until they are stored. A missing space gets the fields of the file, so call
 * `setStructure` first. Rejects with the code `import_failed` and the problems of the records. An abort cancels the import.
 */
export async function importFile<Of extends Fields>(
  client: Client,
  { slug }: Space<Of>,
  bytes: NonNullable<RequestInit['body']>,
  { type, format, onError, onConflict, columns, onProgress, signal }: ImportOptions<Of> = {},
): Promise<ImportJob> {
  const query = queryOf({
    format,
    onError,
    onConflict: onConflict && JSON.stringify({ field: onConflict.on, do: onConflict.do }),
    columns: columns && JSON.stringify(columns),
  });
  const begin = {
    method: 'POST',
    path: `${pathOf(client, slug)}/_import_?${query}`,
    ...attemptWith(bytes),
    signal,
    headers: { 'idempotency-key': randomKey(), ...(type && { 'content-type': type }) },
    repeatable: !(bytes instanceof ReadableStream),
  };
  let job = await send(client, begin, json<ImportJob>);
  const call = { path: `/_jobs_/${job.id}`, repeatable: true };
  try {
    for (;;) {
      onProgress?.(job);
      if (job.state === 'done') return job;
      if (job.error !== null || job.state === 'cancelled') throw failed(job);
      await sleep(pause, signal);
      job = await send(client, { ...call, method: 'GET', signal }, json<ImportJob>);
    }
  } catch (error) {
    if (signal?.aborted) await send(client, { ...call, method: 'DELETE' }).catch(() => {});
    throw error;
  }
}

function failed({ error, problems }: ImportJob): SluiceError {
  return new SluiceError({
    code: 'import_failed',
    status: 200,
    message: error ?? 'The import was cancelled',
    problems: problems.map(({ line, field, reason }) => `Line ${line}: ${field ?? 'it'} ${reason}`),
  });
}
