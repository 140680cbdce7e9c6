import { ApiError } from '#kernel/errors/api-error.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { OnConflict } from '#records/input/parse-on-conflict.ts';
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
import { assertSame, Changed } from './changed.ts';
import { asDeclared } from './declared-structure.ts';
import { type ImportJob, mostProblems, over } from './import-job.ts';
import type { JobNotes } from './job-notes.ts';
import { type StageParts, stageRecords } from './run-import.ts';

export interface ImportParts extends StageParts {
  readonly database: string;
  readonly structures: Pick<StructureCache, 'readParsed'>;
  /** Null: there is none. */
  readonly quota: RecordQuota | null;
  /** Bytes of the text of a file. */
  readonly mostBytes: number;
}

/** Runs of an import while others change its space. */
const attempts = 3;
/** How often an import looks whether it may publish, while the structure of its space is being changed. Milliseconds. */
const patience = { times: 60, pause: 500 };

/**
 * Imports the records of a file, all at one moment: they are written to a table of their own, and become records of their
 * space when nobody writes to it. The last thing that it stores is the end of the job.
 */
export async function importRecords(
  deps: ImportParts,
  notes: JobNotes,
  { path, space }: { readonly path: string; readonly space: RecordSpace },
  signal: AbortSignal,
): Promise<void> {
  const staged = stageOf(deps, space.id, notes.job.id);
  const declared = declaredBy(deps, notes.job);
  let current = asDeclared(space, declared);
  for (let attempt = 1; ; attempt++) {
    await deps.spaces.endLeft(space.catalogueId, signal);
    try {
      const records = await stage(deps, notes, { path, space: current, staged }, signal);
      if (records === null) return;
      return await publish(deps, notes, { space: current, staged, records }, signal);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      if (attempt === attempts) throw overloaded('the record space is being changed by many', error);
      const now = await deps.spaces.find(space.catalogueId, signal);
      if (now?.id !== space.id)
        throw new FileProblem(null, 'the structure of the record space was changed meanwhile');
      current = asDeclared(now, declared);
    }
  }
}

function declaredBy({ structures }: Pick<ImportParts, 'structures'>, job: ImportJob): Structure | null {
  const { declared, project: projectSlug, space: slug } = job;
  return declared === undefined ? null : structures.readParsed(JSON.parse(declared), { projectSlug, slug });
}

/** Ends an import that was cut off while it was published: all of its records are there, or it begins again. */
export async function publishAgain(
  deps: ImportParts,
  notes: JobNotes,
  space: RecordSpace,
  signal: AbortSignal,
): Promise<void> {
  const { job } = notes;
  const { db, table } = deps.store;
  await waitToHold(deps, space.catalogueId, signal, async (_, own) => {
    const range = stageOf(deps, space.id, job.id).attached();
    const columns = 'toFloat64(count()) AS records';
    const statement = { ...table.select(space.id, { columns, where: rangeSql(range) }), signal: own };
    const [found] = await db.rows<{ records: number }>(statement);
    if (found?.records === job.inserted) return notes.store(over('done'));
    if (found?.records !== 0) await db.command({ ...table.clearRange(space.id, range), signal: own });
    await notes.store({ state: 'waiting', inserted: 0 });
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

interface Staged {
  readonly space: RecordSpace;
  readonly staged: StagedRecords;
}

/** Null: the job is over, and nothing is stored. */
async function stage(
  deps: ImportParts,
  notes: JobNotes,
  { path, space, staged }: Staged & { readonly path: string },
  signal: AbortSignal,
): Promise<number | null> {
  const { reading, skips, onConflict, firstId, createdAt } = notes.job;
  const problems: ImportJob['problems'][number][] = [];
  const report = (progress: ThreadProgress): void => {
    const { bytesRead, records, skipped, updated, problemCount } = progress;
    problems.push(...progress.problems.slice(0, mostProblems - problems.length));
    notes.note({ bytesRead, records, skipped, updated, problemCount, problems: [...problems] });
  };
  notes.note({ bytesRead: 0, records: 0, skipped: 0, updated: 0, problemCount: 0, problems: [] });
  const { db, table } = deps.store;
  const [some] = await db.rows({ ...table.select(space.id, { columns: '1', tail: 'LIMIT 1' }), signal });
  const { mostBytes } = deps;
  const rest = { reading, skips, firstId, createdAt, mostBytes, isEmpty: some === undefined };
  const conflict = conflictIn(space, onConflict);
  const task = { path, space: plainOf(space), onConflict: conflict && slotted(conflict), ...rest };
  const { isCut, stored } = await stageRecords(deps, task, { space, staged, conflict, report }, signal);
  const { problemCount } = notes.job;
  if (problemCount > 0 && (isCut || !skips)) {
    await notes.store({
      ...over('failed'),
      error: isCut ? 'The file can not be read' : 'Records have problems',
    });
    return null;
  }
  if (stored > 0) return stored;
  await notes.store(over('done'));
  return null;
}

/** Throws a FileProblem where the field is no unique one by now. */
function conflictIn({ structure }: RecordSpace, asked: ImportJob['onConflict']): OnConflict | null {
  if (asked === null) return null;
  const field = structure.lookup.get(asked.field);
  if (!field?.unique) throw new FileProblem(null, `onConflict: ${shownName(asked.field)} is no unique field`);
  return { field, do: asked.do };
}

function slotted({ field, do: action }: OnConflict): ThreadTask['onConflict'] {
  return { slot: slotOf(field), do: action };
}

/** Without what a thread can't be given. */
function plainOf({ id, catalogueId, ownerId, projectId, structure, stored }: RecordSpace): RecordSpace {
  return { id, catalogueId, ownerId, projectId, structure, stored };
}

async function publish(
  deps: ImportParts,
  notes: JobNotes,
  { space, staged, records }: Staged & { readonly records: number },
  signal: AbortSignal,
): Promise<void> {
  const { db } = deps.store;
  const [sum] = await db.rows<{ bytes: number }>({ ...staged.sumBytes(recordOverhead), signal });
  await waitToHold(deps, space.catalogueId, signal, async (entry, own) => {
    signal.throwIfAborted();
    if (entry === null) throw new FileProblem(null, 'the record space was dropped');
    assertSame(space, entry.recordsId, entry.structure);
    const { keep } = notes.job.reading;
    const unique = space.structure.fields.filter((field) => field.unique);
    for (const field of keep.includes('id') ? (['id', ...unique] as const) : unique) {
      const [taken] = await db.rows({ ...staged.taken(field), signal: own });
      if (taken === undefined) continue;
      // those that were there before were found with their lines; the next run finds it so
      if (notes.job.skips || notes.job.onConflict !== null) throw new Changed();
      const name = shownName(field === 'id' ? field : field.name);
      throw new FileProblem(null, `${name} is unique, and others stored one of the values meanwhile`);
    }
    const attach = async (): Promise<void> => {
      await notes.store({ state: 'publishing', inserted: records });
      // from here on its values may be stored
      await deps.store.keys.addRows(staged.keys());
      await db.command(staged.attach());
      await notes.store(over('done'));
    };
    const { quota } = deps;
    await (quota === null ? attach() : quota.write(space.ownerId, sum?.bytes ?? 0, attach));
  });
}

async function waitToHold(
  { spaces }: Pick<ImportParts, 'spaces'>,
  id: string,
  signal: AbortSignal,
  work: (entry: CatalogueEntry | null, own: AbortSignal) => Promise<void>,
): Promise<void> {
  for (let time = 1; ; time++) {
    let began = false;
    try {
      return await spaces.hold(id, (entry, own) => {
        began = true;
        return work(entry, own);
      });
    } catch (error) {
      const isBusy = !began && error instanceof ApiError && error.code === 'overloaded';
      if (!isBusy || time === patience.times) throw error;
      await new Promise((resolve) => setTimeout(resolve, patience.pause));
      signal.throwIfAborted();
    }
  }
}

/** For people. */
export function shownError(error: unknown): string {
  if (error instanceof FileProblem) return `The import was given up: ${error.message}`;
  if (error instanceof ApiError) return error.message;
  return 'The import failed for a reason that the log of the server says';
}
