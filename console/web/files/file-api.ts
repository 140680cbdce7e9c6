import type { CloudFile } from '#client/files.ts';
import { address } from '../address.ts';
import { callApi, callJson } from '../api.ts';
import type { ShowProgress } from '../parts/confirmed.ts';
import type { KeysetPage } from '../parts/load.ts';
import { Problem, toProblem } from '../problem.ts';

/** A CloudFile in a list. */
export type StoredFile = Omit<CloudFile, 'ownedBy' | 'updatedAt' | 'sha256' | 'verified'>;

/** Files that are listed instead of the published ones. */
export type HiddenKind = 'trashed' | 'checking' | 'refused';

/** Props of components that show one file. */
export interface FileProps {
  readonly project: string;
  readonly file: StoredFile;
}

export interface FileFilter {
  /** Part of the name. */
  readonly name: string;
  /** A media type, or the beginning of one: `image/`. */
  readonly type: string;
  /** Days, YYYY-MM-DD, both included. */
  readonly from: string;
  readonly to: string;
  /** The id of a folder. */
  readonly folder: string;
}

export const noFilter: FileFilter = { name: '', type: '', from: '', to: '', folder: '' };

/** Orders by their query parameters; the first is the default. */
export const fileOrders = {
  newest: { label: 'Newest first', query: {} },
  oldest: { label: 'Oldest first', query: { order: 'asc' } },
  name: { label: 'By name, A to Z', query: { sort: 'name', order: 'asc' } },
  'name-back': { label: 'By name, Z to A', query: { sort: 'name' } },
} as const;
export type FileOrder = keyof typeof fileOrders;

const hiddenQueries = {
  trashed: { trash: 'true' },
  checking: { hidden: 'checking' },
  refused: { hidden: 'refused' },
} as const;

interface ListOptions {
  readonly after: string | null;
  readonly order?: FileOrder;
  readonly limit?: number;
  /** Absent: published files. */
  readonly hidden?: HiddenKind | undefined;
  readonly signal: AbortSignal;
}

const pageSize = 100;

/** A page of files; the first has the total. A project that does not exist yet has no files. */
export async function listFiles(
  project: string,
  filter: FileFilter,
  { after, order = 'newest', limit = pageSize, hidden, signal }: ListOptions,
): Promise<KeysetPage<StoredFile>> {
  const query = {
    ...fileOrders[order].query,
    limit,
    after: after ?? undefined,
    count: after === null ? 'true' : undefined,
    name: filter.name || undefined,
    type: filter.type || undefined,
    folder: filter.folder || undefined,
    ...(hidden === undefined ? {} : hiddenQueries[hidden]),
    from: filter.from === '' ? undefined : momentOf(filter.from),
    to: filter.to === '' ? undefined : momentOf(filter.to, { end: true }),
  };
  try {
    type Answer = { files: StoredFile[]; next: string | null; count?: number };
    const { files, next, count } = await callJson<Answer>(address`/_f_/${project}`, { query, signal });
    return { items: files, next, total: count };
  } catch (thrown) {
    if (toProblem(thrown).status === 404) return { items: [], next: null, total: 0 };
    throw thrown;
  }
}

/** The first or the last moment of a day in the local time zone. */
function momentOf(day: string, { end = false }: { end?: boolean } = {}): string | undefined {
  const date = new Date(`${day}T${end ? '23:59:59.999' : '00:00:00'}`);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

interface Deletion {
  readonly signal: AbortSignal;
  readonly progress: ShowProgress;
  /** Called with each deleted name. */
  readonly onDeleted?: (name: string) => void;
  /** Not to the trash. */
  readonly forGood?: boolean;
}

/** Files that one request deletes: few enough for the progress bar to move. */
const deletedAtOnce = 200;

interface Deletions {
  readonly failed: readonly { readonly name: string; readonly code: string; readonly message: string }[];
}

/** Deletes files by name; ignores files that are already deleted. */
export async function deleteNamed(project: string, names: readonly string[], work: Deletion): Promise<void> {
  const { signal, progress, onDeleted, forGood = false } = work;
  progress(0, names.length);
  for (let done = 0; done < names.length; ) {
    const some = names.slice(done, done + deletedAtOnce);
    const call = { method: 'POST', json: { names: some, ...(forGood ? { trash: false } : {}) }, signal };
    const { failed } = await callJson<Deletions>(address`/_f_/${project}/_delete_`, call);
    const left = failed.filter(({ code }) => code !== 'not_found');
    const leftNames = new Set(left.map(({ name }) => name));
    for (const name of some) if (!leftNames.has(name)) onDeleted?.(name);
    if (left[0] !== undefined) throw new Problem(left[0].message, { code: left[0].code });
    done += some.length;
    progress(done, names.length);
  }
}

/** Deletes all matching files, page by page, including files that are uploaded meanwhile. */
export async function deleteFiles(
  project: string,
  filter: FileFilter,
  { hidden, ...work }: Deletion & Pick<ListOptions, 'hidden'>,
): Promise<void> {
  for (let before = 0; ; ) {
    const page = { after: null, limit: deletedAtOnce, hidden, signal: work.signal };
    const { items, total = 0 } = await listFiles(project, filter, page);
    if (items.length === 0) return;
    const all = before + Math.max(total, items.length);
    const progress = (done: number): void => work.progress(before + done, all);
    await deleteNamed(
      project,
      items.map(({ name }) => name),
      { ...work, progress },
    );
    before += items.length;
  }
}

interface FolderDeletions extends Deletions {
  readonly deleted: number;
  /** Whether there may be more files to delete. */
  readonly more: boolean;
}

/** Deletes the files of a folder, with several requests if there are many. @param total how many there are about */
export async function deleteFolder(
  { project, folder, total }: { project: string; folder: string; total: number },
  { signal, progress }: Pick<Deletion, 'signal' | 'progress'>,
): Promise<void> {
  progress(0, total);
  for (let done = 0; ; ) {
    const call = { method: 'DELETE', signal };
    const answer = await callJson<FolderDeletions>(address`/_f_/${project}/${folder}/`, call);
    const [left] = answer.failed;
    if (left !== undefined) throw new Problem(left.message, { code: left.code });
    done += answer.deleted;
    progress(done, Math.max(done, total));
    if (!answer.more) return;
  }
}

interface Restoring extends Pick<Deletion, 'signal' | 'progress'> {
  /** Called with each restored name. */
  readonly onDone: (name: string) => void;
}

/** Brings files back from the trash, one by one. */
export async function restoreNamed(
  project: string,
  names: readonly string[],
  { signal, progress, onDone }: Restoring,
): Promise<void> {
  progress(0, names.length);
  for (const [done, name] of names.entries()) {
    await callApi(address`/_f_/${project}/${name}/restore`, { method: 'POST', signal });
    onDone(name);
    progress(done + 1, names.length);
  }
}

/** Brings all matching files back from the trash. */
export async function restoreFiles(project: string, filter: FileFilter, work: Restoring): Promise<void> {
  for (let before = 0; ; ) {
    const page = { after: null, hidden: 'trashed', signal: work.signal } as const;
    const { items, total = 0 } = await listFiles(project, filter, page);
    if (items.length === 0) return;
    const all = before + Math.max(total, items.length);
    await restoreNamed(
      project,
      items.map(({ name }) => name),
      { ...work, progress: (done) => work.progress(before + done, all) },
    );
    before += items.length;
  }
}
