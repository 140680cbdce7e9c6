import { hashOfTexts } from '#kernel/ids/key-lifetime.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { structureText } from '#records/structure/structure.ts';
import type { FileReading, RecordProblem } from '../thread/file-records.ts';

/** Problems of one import that are kept; all are counted. */
export const mostProblems = 1000;

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
  /** What becomes of a record with a value of a unique field that is stored already; null: it has a problem. */
  readonly onConflict: AskedConflict | null;
  /** The structure that its request brought, as text; absent: the stored one. */
  readonly declared?: string;
  /** On fields that the file made TEXT, and that are nearly of another type; absent: there are none. */
  readonly remarks?: readonly string[];
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
  /** Records that were read, those of them that are left out, and those that changed stored ones. */
  readonly records: number;
  readonly skipped: number;
  readonly updated: number;
  /** Records that are stored. */
  readonly inserted: number;
  /** The first ones. */
  readonly problems: readonly RecordProblem[];
  readonly problemCount: number;
  /** Why it failed; null: it did not. */
  readonly error: string | null;
}

export interface AskedConflict {
  /** A slug. */
  readonly field: string;
  readonly do: 'update' | 'skip';
}

/** What a request says of an import. */
export interface AskedImport {
  readonly space: RecordSpace;
  readonly project: string;
  readonly reading: FileReading;
  readonly skips: boolean;
  readonly onConflict: AskedConflict | null;
  /** The space has the structure of the request, and not the stored one. */
  readonly isDeclared: boolean;
  /** Its `Idempotency-Key`; absent: it has none. */
  readonly key?: string | undefined;
  readonly remarks: readonly string[];
}

/** @param file digest: of its bytes */
export function newJob(
  { space, project, reading, skips, onConflict, isDeclared, key, remarks }: AskedImport,
  { id, bytes, digest }: Pick<ImportJob, 'id' | 'bytes' | 'digest'>,
  { firstId, createdAt }: Pick<ImportJob, 'firstId' | 'createdAt'>,
): ImportJob {
  const { ownerId, catalogueId, stored, structure } = space;
  const declared = isDeclared ? [structureText(structure)] : [];
  return {
    ...{ id, ownerId, project, space: stored.slug, catalogueId, reading, skips, onConflict, bytes },
    ...(key === undefined ? {} : { key: hashOfTexts(key) }),
    ...(isDeclared && { declared: declared[0] as string }),
    ...(remarks.length > 0 && { remarks }),
    digest: hashOfTexts(digest, catalogueId, JSON.stringify([reading, skips, onConflict, ...declared])),
    ...{ firstId, createdAt, updatedAt: createdAt, startedAt: null, endedAt: null },
    ...{ state: 'waiting', version: 1, bytesRead: 0, records: 0, skipped: 0, updated: 0, inserted: 0 },
    ...{ problems: [], problemCount: 0, error: null },
  };
}

export function isOver({ state }: Pick<ImportJob, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** The last changes of a job. */
export function over(state: 'done' | 'failed' | 'cancelled'): Partial<ImportJob> {
  return { state, endedAt: new Date().toISOString() };
}

/** The job as its account sees it. */
export function jobJson(job: ImportJob): object {
  const { id, project, space, state, bytes, bytesRead, records, skipped, updated, inserted } = job;
  const { problems, problemCount, remarks = [], error, createdAt, startedAt, endedAt, updatedAt } = job;
  const until = Date.parse(endedAt ?? updatedAt);
  const seconds = startedAt === null ? 0 : (until - Date.parse(startedAt)) / 1000;
  const perSecond = seconds > 0 ? Math.round(records / seconds) : null;
  return {
    ...{ id, kind: 'import', state, project, space, format: job.reading.format },
    ...{ onError: job.skips ? 'skip' : 'stop', bytes, bytesRead, records, skipped, updated },
    ...{ inserted, perSecond, problems, problemCount, remarks, error, createdAt, startedAt, endedAt },
  };
}
