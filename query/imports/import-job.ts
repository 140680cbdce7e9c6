import type { FileReading, RecordProblem } from './file-records.ts';

export const jobStates = ['waiting', 'running', 'publishing', 'done', 'failed', 'cancelled'] as const;
export type JobState = (typeof jobStates)[number];

/** An import of records of a file into a record space. */
export interface ImportJob {
  readonly id: string;
  readonly ownerId: string;
  /** Slugs. */
  readonly project: string;
  readonly space: string;
  readonly catalogueId: string;
  /** A hash of its `Idempotency-Key`; absent: it has none. */
  readonly key?: string;
  /** What makes it another request than one with the same `Idempotency-Key`. */
  readonly digest: string;
  readonly reading: FileReading;
  /** Records with problems are left out. */
  readonly skips: boolean;
  /** Of its first record. */
  readonly firstId: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** ISO 8601. */
  readonly createdAt: string;

  // how far it is
  readonly state: JobState;
  readonly version: number;
  readonly updatedAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly bytesRead: number;
  /** Records that were read, and those of them that are left out. */
  readonly records: number;
  readonly skipped: number;
  /** Records that are stored. */
  readonly inserted: number;
  /** The first ones. */
  readonly problems: readonly RecordProblem[];
  readonly problemCount: number;
  /** Why it failed; null: it did not. */
  readonly error: string | null;
}

export function isOver({ state }: Pick<ImportJob, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** The job as its account sees it. */
export function jobJson(job: ImportJob): object {
  const { id, project, space, state, bytes, bytesRead, records, skipped, inserted } = job;
  const { problems, problemCount, error, createdAt, startedAt, endedAt, updatedAt } = job;
  const until = Date.parse(endedAt ?? updatedAt);
  const seconds = startedAt === null ? 0 : (until - Date.parse(startedAt)) / 1000;
  const perSecond = seconds > 0 ? Math.round(records / seconds) : null;
  return {
    ...{ id, kind: 'import', state, project, space, format: job.reading.format },
    ...{ onError: job.skips ? 'skip' : 'stop', bytes, bytesRead, records, skipped, inserted, perSecond },
    ...{ problems, problemCount, error, createdAt, startedAt, endedAt },
  };
}
