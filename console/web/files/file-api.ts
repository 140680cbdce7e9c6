import { address } from '../address.ts';
import { apiAddress, callApi, callJson } from '../api.ts';
import type { ShowProgress } from '../parts/confirmed.ts';
import type { KeysetPage } from '../parts/load.ts';
import { Problem, toProblem } from '../problem.ts';

/** A CloudFile in a list. */
export interface StoredFile {
  readonly _id: string;
  readonly name: string;
  readonly originalName: string;
  readonly s3Link: string;
  readonly createdAt: string;
  readonly contentType: string;
  readonly size: number;
}

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
}

export const noFilter: FileFilter = { name: '', type: '', from: '', to: '' };

/** Orders by their query parameters; the first is the default. */
export const fileOrders = {
  newest: { label: 'Newest first', query: {} },
  oldest: { label: 'Oldest first', query: { order: 'asc' } },
  name: { label: 'By name, A to Z', query: { sort: 'name', order: 'asc' } },
  'name-back': { label: 'By name, Z to A', query: { sort: 'name' } },
} as const;
export type FileOrder = keyof typeof fileOrders;

interface ListOptions {
  readonly after: string | null;
  readonly order?: FileOrder;
  readonly limit?: number;
  readonly signal: AbortSignal;
}

const pageSize = 100;

/** A page of files; the first has the total. A project that does not exist yet has no files. */
export async function listFiles(
  project: string,
  filter: FileFilter,
  { after, order = 'newest', limit = pageSize, signal }: ListOptions,
): Promise<KeysetPage<StoredFile>> {
  const query = {
    ...fileOrders[order].query,
    limit,
    after: after ?? undefined,
    count: after === null ? 'true' : undefined,
    name: filter.name || undefined,
    type: filter.type || undefined,
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
}

/** Files that one request deletes: few enough for the progress bar to move. */
const deletedAtOnce = 200;

interface Deletions {
  readonly failed: readonly { readonly name: string; readonly code: string; readonly message: string }[];
}

/** Deletes files by name; ignores files that are already deleted. */
export async function deleteNamed(project: string, names: readonly string[], work: Deletion): Promise<void> {
  const { signal, progress, onDeleted } = work;
  progress(0, names.length);
  for (let done = 0; done < names.length; ) {
    const some = names.slice(done, done + deletedAtOnce);
    const call = { method: 'POST', json: { names: some }, signal };
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
export async function deleteFiles(project: string, filter: FileFilter, work: Deletion): Promise<void> {
  for (let before = 0; ; ) {
    const page = { after: null, limit: deletedAtOnce, signal: work.signal };
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

export interface ExpiringLink {
  readonly link: string;
  readonly expiresAt: string;
}

/** @param expiresIn seconds, at most a week */
export function createLink(
  project: string,
  name: string,
  expiresIn: number,
  signal?: AbortSignal,
): Promise<ExpiringLink> {
  return callJson(address`/_f_/${project}/${name}/link`, { method: 'POST', json: { expiresIn }, signal });
}

const previewLifetime = 3600;
/** A link is replaced well before it expires. */
const usableMs = (previewLifetime / 2) * 1000;
const mostSources = 500;
const sources = new Map<string, { source: Promise<string>; until: number }>();

/** An address for <img>, <audio> and <video>, which can't send a token. Works whether files are public or private. */
export function mediaSource(project: string, name: string): Promise<string> {
  const file = address`/_f_/${project}/${name}`;
  const known = sources.get(file);
  if (known !== undefined && known.until > Date.now()) return known.source;
  // use the API's address that this page uses: its policy allows no other origin
  const source = createLink(project, name, previewLifetime).then(
    ({ link }) => apiAddress(file) + new URL(link).search,
  );
  source.catch(() => sources.delete(file));
  if (sources.size >= mostSources) sources.clear();
  sources.set(file, { source, until: Date.now() + usableMs });
  return source;
}

export async function readBeginning(
  project: string,
  name: string,
  { bytes, signal }: { bytes: number; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await callApi(address`/_f_/${project}/${name}`, {
    headers: { range: `bytes=0-${bytes - 1}`, accept: '*/*' },
    signal,
  });
  return new Uint8Array(await response.arrayBuffer());
}
