import { permitted } from '#catalogue/file-uses/file-use.ts';
import { usesAtOnce } from '#catalogue/file-uses/file-uses.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { fileFieldsOf, hasFiles, namesInValues } from '#records/file-fields.ts';
import type { OnConflict } from '#records/input/parse-on-conflict.ts';
import type { BegunUses } from '#records/record-files.ts';
import { type RecordQuota, recordOverhead } from '#records/record-quota.ts';
import { rangeSql } from '#records/sql/id-range.ts';
import { StagedRecords } from '#records/sql/staged-records.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { slotOf } from '#records/structure/slots.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { StructureCache } from '../../input/structure-cache.ts';
import type { CatalogueEntry } from '../../space/catalogue-entry.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { ThreadProgress, ThreadTask } from '../thread/thread-messages.ts';
import { attachStaged } from './attach-staged.ts';
import { asDeclared } from './declared-structure.ts';
import { type ImportJob, jobEnd, mostProblems } from './import-job.ts';
import type { JobWriter } from './job-writer.ts';
import { assertUnchanged, SpaceChanged } from './space-changed.ts';
import { type StageParts, stageRecords } from './stage-records.ts';

export interface ImportParts extends StageParts {
  readonly database: string;
  readonly structures: Pick<StructureCache, 'readParsed'>;
  /** Null: there is none. */
  readonly quota: RecordQuota | null;
  /** Bytes of text that a file may have. */
  readonly mostBytes: number;
}

/** How often an import starts again because others changed its space. */
const attempts = 3;
/** How often an import tries to publish while the structure of its space is being changed. Milliseconds. */
const publishTries = { times: 60, pause: 500 };

/**
 * Imports the records of a file atomically: it writes them to a staging table, and attaches that to the space while nobody
 * else writes to it. The end of the job is stored last.
 */
export async function importRecords(
  deps: ImportParts,
  writer: JobWriter,
  { path, space }: { readonly path: string; readonly space: RecordSpace },
  signal: AbortSignal,
): Promise<void> {
  const staged = stageOf(deps, space.id, writer.job.id);
  const declared = declaredBy(deps, writer.job);
  let current = asDeclared(space, declared);
  for (let attempt = 1; ; attempt++) {
    await deps.spaces.endLeft(space.catalogueId, signal);
    try {
      const records = await stage(deps, writer, { path, space: current, staged }, signal);
      if (records === null) return;
      return await publish(deps, writer, { space: current, staged, records }, signal);
    } catch (error) {
      if (!(error instanceof SpaceChanged)) throw error;
      if (attempt === attempts) throw overloaded('the record space keeps changing', error);
      const now = await deps.spaces.find(space.catalogueId, signal);
      if (now?.id !== space.id)
        throw new FileProblem(null, 'the structure of the record space was changed during the import');
      current = asDeclared(now, declared);
    }
  }
}

function declaredBy({ structures }: Pick<ImportParts, 'structures'>, job: ImportJob): Structure | null {
  const { declared, project: projectSlug, space: slug } = job;
  return declared === undefined ? null : structures.readParsed(JSON.parse(declared), { projectSlug, slug });
}

/** Ends an import that was interrupted while it was published: either all of its records are stored, or it starts again. */
export async function publishAgain(
  deps: ImportParts,
  writer: JobWriter,
  space: RecordSpace,
  signal: AbortSignal,
): Promise<void> {
  const { job } = writer;
  const { db, table } = deps.store;
  await waitToHold(deps, space.catalogueId, signal, async (_, holdSignal) => {
    const range = stageOf(deps, space.id, job.id).attached();
    const columns = 'toFloat64(count()) AS records';
    const statement = { ...table.select(space.id, { columns, where: rangeSql(range) }), signal: holdSignal };
    const [found] = await db.rows<{ records: number }>(statement);
    if (found?.records === job.inserted) return writer.store(jobEnd('done'));
    if (found?.records !== 0) await db.command({ ...table.clearRange(space.id, range), signal: holdSignal });
    await writer.store({ state: 'waiting', inserted: 0 });
  });
}

export function dropStage(
  deps: Pick<ImportParts, 'store' | 'database'>,
  recordsId: string,
  id: string,
): Promise<void> {
  return deps.store.db.command(stageOf(deps, recordsId, id).drop());
}

function stageOf(
  { database, store }: Pick<ImportParts, 'store' | 'database'>,
  recordsId: string,
  id: string,
) {
  return new StagedRecords(database, store.table, recordsId, id);
}

interface StagedImport {
  readonly space: RecordSpace;
  readonly staged: StagedRecords;
}

/** Returns the number of staged records; null: the job has ended, and no record was stored. */
async function stage(
  deps: ImportParts,
  writer: JobWriter,
  { path, space, staged }: StagedImport & { readonly path: string },
  signal: AbortSignal,
): Promise<number | null> {
  const { reading, skips, onConflict, firstId, createdAt } = writer.job;
  const problems: ImportJob['problems'][number][] = [];
  const report = (progress: ThreadProgress): void => {
    const { bytesRead, records, skipped, updated, problemCount } = progress;
    problems.push(...progress.problems.slice(0, mostProblems - problems.length));
    writer.update({ bytesRead, records, skipped, updated, problemCount, problems: [...problems] });
  };
  writer.update({ bytesRead: 0, records: 0, skipped: 0, updated: 0, problemCount: 0, problems: [] });
  const { db, table } = deps.store;
  const [some] = await db.rows({ ...table.select(space.id, { columns: '1', tail: 'LIMIT 1' }), signal });
  const { mostBytes } = deps;
  const rest = { reading, skips, firstId, createdAt, mostBytes, isEmpty: some === undefined };
  const conflict = conflictIn(space, onConflict);
  const task = { path, space: plainOf(space), onConflict: conflict && slotted(conflict), ...rest };
  const { isCut, stored } = await stageRecords(deps, task, { space, staged, conflict, report }, signal);
  const { problemCount } = writer.job;
  if (problemCount > 0 && (isCut || !skips)) {
    await writer.store({
      ...jobEnd('failed'),
      error: isCut ? 'The file cannot be read' : problemsIn(writer.job),
    });
    return null;
  }
  if (stored > 0) return stored;
  await writer.store(jobEnd('done'));
  return null;
}

/** Why an import has stored nothing. With too many problems the rest of its file is not read. */
function problemsIn({ skipped, bytesRead, bytes }: ImportJob): string {
  const records = skipped === 1 ? '1 record has' : `${skipped} records have`;
  return `Nothing was imported: ${bytesRead < bytes ? 'at least ' : ''}${records} problems`;
}

/** Throws a FileProblem if the field is no longer unique. */
function conflictIn({ structure }: RecordSpace, rule: ImportJob['onConflict']): OnConflict | null {
  if (rule === null) return null;
  const field = structure.lookup.get(rule.field);
  if (!field?.unique)
    throw new FileProblem(null, `onConflict: ${shownName(rule.field)} is not a unique field`);
  return { field, do: rule.do };
}

function slotted({ field, do: action }: OnConflict): ThreadTask['onConflict'] {
  return { slot: slotOf(field), do: action };
}

/** Without properties that can't be cloned for a thread. */
function plainOf({ id, catalogueId, ownerId, projectId, structure, stored }: RecordSpace): RecordSpace {
  return { id, catalogueId, ownerId, projectId, structure, stored };
}

async function publish(
  deps: ImportParts,
  writer: JobWriter,
  { space, staged, records }: StagedImport & { readonly records: number },
  signal: AbortSignal,
): Promise<void> {
  const { db } = deps.store;
  const [sum] = await db.rows<{ bytes: number }>({ ...staged.sumBytes(recordOverhead), signal });
  await waitToHold(deps, space.catalogueId, signal, async (entry, holdSignal) => {
    signal.throwIfAborted();
    if (entry === null) throw new FileProblem(null, 'the record space was dropped');
    assertUnchanged(space, entry.recordsId, entry.structure);
    const { keep } = writer.job.reading;
    const unique = space.structure.fields.filter((field) => field.unique);
    for (const field of keep.includes('id') ? (['id', ...unique] as const) : unique) {
      const [taken] = await db.rows({ ...staged.taken(field), signal: holdSignal });
      if (taken === undefined) continue;
      // another run reports the value with its line
      if (writer.job.skips || writer.job.onConflict !== null) throw new SpaceChanged();
      const name = shownName(field === 'id' ? field : field.name);
      throw new FileProblem(
        null,
        `${name} is unique, and one of its values was stored by another request during the import`,
      );
    }
    const attach = async (): Promise<void> => {
      const files = await beginFiles(deps, { space, staged }, holdSignal);
      await writer.store({ state: 'publishing', inserted: records });
      // from now on its values count as stored
      await deps.store.keys.addRows(staged.keys());
      try {
        await attachStaged(db, staged, files?.permit);
      } finally {
        files?.end();
      }
      await writer.store(jobEnd('done'));
    };
    const { quota } = deps;
    await (quota === null ? attach() : quota.write(space.ownerId, sum?.bytes ?? 0, attach));
  });
}

/** Makes the uses of files by the records durable. Null: the space has no field for files. */
async function beginFiles(
  deps: Pick<ImportParts, 'store' | 'recordFiles'>,
  staged: StagedImport,
  signal: AbortSignal,
): Promise<{ readonly permit: WritePermit; readonly end: () => void } | null> {
  if (!hasFiles(staged.space.structure)) return null;
  const began = performance.now();
  const begun: BegunUses[] = [];
  const end = (): void => {
    for (const uses of begun) void uses.end('maybe');
  };
  try {
    for await (const uses of usesOf(deps, staged, signal)) begun.push(uses);
  } catch (error) {
    end();
    throw error;
  }
  const check = (): void => {
    if (performance.now() - began > 2 * permitted.begin)
      throw overloaded('the records of the import name too many files');
  };
  return { permit: { check, timeLimit: permitted.write }, end };
}

async function* usesOf(
  { store, recordFiles }: Pick<ImportParts, 'store' | 'recordFiles'>,
  { space, staged }: StagedImport,
  signal: AbortSignal,
): AsyncGenerator<BegunUses> {
  const { structure } = space;
  const slots = fileFieldsOf(structure).map(({ field }) => slotOf(field));
  for (let after = ''; ; ) {
    const page = staged.values(slots, after, usesAtOnce);
    const rows = await store.db.rows<{ _id: string; values: Record<string, string> }>({ ...page, signal });
    const named = rows.map(({ _id: id, values }) => ({
      id,
      values: structure.fields.map((field) => values[slotOf(field)] ?? null),
    }));
    const owned = new Set(named.flatMap(({ values }) => namesInValues(structure, values)));
    if (owned.size > 0) yield recordFiles.begin(space, named, { texts: new Map(), owned }, signal);
    const last = rows.at(-1);
    if (last === undefined || rows.length < usesAtOnce) return;
    after = last._id;
  }
}

async function waitToHold(
  { spaces }: Pick<ImportParts, 'spaces'>,
  id: string,
  signal: AbortSignal,
  work: (entry: CatalogueEntry | null, holdSignal: AbortSignal) => Promise<void>,
): Promise<void> {
  for (let time = 1; ; time++) {
    let began = false;
    try {
      return await spaces.hold(id, (entry, holdSignal) => {
        began = true;
        return work(entry, holdSignal);
      });
    } catch (error) {
      const isBusy = !began && error instanceof ApiError && error.code === 'overloaded';
      if (!isBusy || time === publishTries.times) throw error;
      await new Promise((resolve) => setTimeout(resolve, publishTries.pause));
      signal.throwIfAborted();
    }
  }
}

/** The error as the owner of the job sees it. */
export function shownError(error: unknown): string {
  if (error instanceof FileProblem) return `The import failed: ${error.message}`;
  if (error instanceof ApiError) return error.message;
  return 'The import failed: the log of the server has the reason';
}
