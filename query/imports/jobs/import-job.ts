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
  /** A hash of the file and the options: another request with the same `Idempotency-Key` has a different one. */
  readonly digest: string;
  readonly reading: FileReading;
  /** Records with problems are left out. */
  readonly skips: boolean;
  /** What to do with a record whose value of a unique field is already stored; null: report a problem. */
  readonly onConflict: ConflictRule | null;
  /** The structure that its request declared, as text; absent: the stored one. */
  readonly declared?: string;
  /** About new TEXT fields whose values are mostly of another type; absent: there are none. */
  readonly remarks?: readonly string[];
  /** The id of its first record. */
  readonly firstId: string;
  /** Size of the file. */
  readonly bytes: number;
  /** ISO 8601. */
  readonly createdAt: string;

  // progress
  readonly state: JobState;
  readonly version: number;
  readonly updatedAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly bytesRead: number;
  /** Records that were read, records that were left out, and records that updated stored ones. */
  readonly records: number;
  readonly skipped: number;
  readonly updated: number;
  /** Records that are stored. */
  readonly inserted: number;
  /** The first `mostProblems`. */
  readonly problems: readonly RecordProblem[];
  readonly problemCount: number;
  /** Why it failed; null: it has not failed. */
  readonly error: string | null;
}

/** What an import does when a value of a unique field is already stored. */
export interface ConflictRule {
  /** A slug. */
  readonly field: string;
  readonly do: 'update' | 'skip';
}

/** An import as its request describes it. */
export interface ImportRequest {
  readonly space: RecordSpace;
  readonly project: string;
  readonly reading: FileReading;
  readonly skips: boolean;
  readonly onConflict: ConflictRule | null;
  /** Whether the structure of `space` was declared by the request, and is not the stored one. */
  readonly isDeclared: boolean;
  /** Its `Idempotency-Key`; absent: it has none. */
  readonly key?: string | undefined;
  readonly remarks: readonly string[];
}

/** @param file its `digest` is the hash of its bytes */
export function newJob(
  { space, project, reading, skips, onConflict, isDeclared, key, remarks }: ImportRequest,
  { id, bytes, digest }: Pick<ImportJob, 'id' | 'bytes' | 'digest'>,
  { firstId, createdAt }: Pick<ImportJob, 'firstId' | 'createdAt'>,
): ImportJob {
  const { ownerId, catalogueId, stored, structure } = space;
  const declared = isDeclared ? structureText(structure) : undefined;
  const options = [reading, skips, onConflict];
  return {
    id,
    ownerId,
    project,
    space: stored.slug,
    catalogueId,
    ...(key === undefined ? {} : { key: hashOfTexts(key) }),
    digest: hashOfTexts(
      digest,
      catalogueId,
      JSON.stringify(declared === undefined ? options : [...options, declared]),
    ),
    reading,
    skips,
    onConflict,
    ...(declared === undefined ? {} : { declared }),
    ...(remarks.length > 0 && { remarks }),
    firstId,
    bytes,
    createdAt,
    state: 'waiting',
    version: 1,
    updatedAt: createdAt,
    startedAt: null,
    endedAt: null,
    bytesRead: 0,
    records: 0,
    skipped: 0,
    updated: 0,
    inserted: 0,
    problems: [],
    problemCount: 0,
    error: null,
  };
}

export function isOver({ state }: Pick<ImportJob, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** The change that ends a job. */
export function jobEnd(state: 'done' | 'failed' | 'cancelled'): Partial<ImportJob> {
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
    id,
    kind: 'import',
    state,
    project,
    space,
    format: job.reading.format,
    onError: job.skips ? 'skip' : 'stop',
    bytes,
    bytesRead,
    records,
    skipped,
    updated,
    inserted,
    perSecond,
    problems,
    problemCount,
    remarks,
    error,
    createdAt,
    startedAt,
    endedAt,
  };
}
