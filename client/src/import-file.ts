import { type Abortable, pathOf } from './ask.ts';
import { type Client, json, SluiceError, send, sleep } from './client.ts';
import type { ExportFormat } from './export-file.ts';
import { randomKey } from './random-key.ts';
import type { Fields, Space } from './space.ts';
import type { UpsertOptions } from './write.ts';

/** How far an import is (docs/import-export.md, "Jobs"). */
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
  /** Content type, such as `text/csv`, unless the body is a Blob that has it. */
  readonly type?: string;
  readonly format?: ExportFormat;
  /** What becomes of a file with problems; by default nothing of it is stored. */
  readonly onError?: 'stop' | 'skip';
  readonly onConflict?: Omit<UpsertOptions<Of>, 'signal'>;
  /** Fields of columns; null: left out. */
  readonly columns?: Readonly<Record<string, (keyof Of & string) | null>>;
  readonly onProgress?: (job: ImportJob) => void;
}

/** Milliseconds between two looks at a job. */
const pause = 500;

/**
 * Makes records of a file, and waits until they are there. A space that is not there gets the fields of the file, so call
 * `setStructure` first. Rejects with the code `import_failed` and the problems of the records. An abort cancels it.
 */
export async function importFile<Of extends Fields>(
  client: Client,
  { slug }: Space<Of>,
  bytes: NonNullable<RequestInit['body']>,
  { type, format, onError, onConflict, columns, onProgress, signal }: ImportOptions<Of> = {},
): Promise<ImportJob> {
  const query = new URLSearchParams({
    ...(format && { format }),
    ...(onError && { onError }),
    ...(onConflict && { onConflict: JSON.stringify({ field: onConflict.on, do: onConflict.do }) }),
    ...(columns && { columns: JSON.stringify(columns) }),
  });
  const begin = {
    ...{ method: 'POST', path: `${pathOf(client, slug)}/_import_?${query}`, bytes, signal },
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
    ...{ code: 'import_failed', status: 200, message: error ?? 'The import was cancelled' },
    problems: problems.map(({ line, field, reason }) => `Line ${line}: ${field ?? 'it'} ${reason}`),
  });
}
