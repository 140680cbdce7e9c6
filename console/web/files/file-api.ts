import { address, apiAddress, callApi, callJson } from '../api.ts';
import type { KeysetPage } from '../parts/load.ts';

/** A CloudFile as the list has it. */
export interface StoredFile {
  readonly _id: string;
  readonly name: string;
  readonly originalName: string;
  readonly s3Link: string;
  readonly createdAt: string;
  readonly contentType: string;
  readonly size: number;
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

const pageSize = 50;

export async function listFiles(
  project: string,
  filter: FileFilter,
  { after, signal }: { after: string | null; signal: AbortSignal },
): Promise<KeysetPage<StoredFile>> {
  const { files, next } = await callJson<{ files: StoredFile[]; next: string | null }>(
    address`/_f_/${project}`,
    {
      query: {
        limit: pageSize,
        after: after ?? undefined,
        name: filter.name || undefined,
        type: filter.type || undefined,
        from: filter.from === '' ? undefined : momentOf(filter.from),
        to: filter.to === '' ? undefined : momentOf(filter.to, { end: true }),
      },
      signal,
    },
  );
  return { items: files, next };
}

/** The first or the last moment of a day as this person knows it. */
function momentOf(day: string, { end = false }: { end?: boolean } = {}): string | undefined {
  const date = new Date(`${day}T${end ? '23:59:59.999' : '00:00:00'}`);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

export async function deleteFile(project: string, name: string): Promise<void> {
  await callApi(address`/_f_/${project}/${name}`, { method: 'DELETE' });
}

export interface ExpiringLink {
  readonly link: string;
  readonly expiresAt: string;
}

/** @param expiresIn seconds, a week at most */
export function makeLink(
  project: string,
  name: string,
  expiresIn: number,
  signal?: AbortSignal,
): Promise<ExpiringLink> {
  return callJson(address`/_f_/${project}/${name}/link`, { method: 'POST', json: { expiresIn }, signal });
}

const previewLife = 3600;
/** Made again well before it ends. */
const usableMs = (previewLife / 2) * 1000;
const mostKept = 500;
const kept = new Map<string, { source: Promise<string>; until: number }>();

/** An address for <img>, <audio> and <video>, which can't send a token. Works whether files are public or private. */
export function mediaSource(project: string, name: string): Promise<string> {
  const file = address`/_f_/${project}/${name}`;
  const known = kept.get(file);
  if (known !== undefined && known.until > Date.now()) return known.source;
  // at the API's address as this page knows it: its policy allows no other origin
  const source = makeLink(project, name, previewLife).then(
    ({ link }) => apiAddress(file) + new URL(link).search,
  );
  source.catch(() => kept.delete(file));
  if (kept.size >= mostKept) kept.clear();
  kept.set(file, { source, until: Date.now() + usableMs });
  return source;
}

/** The beginning of a file. */
export async function readBeginning(
  project: string,
  name: string,
  { bytes, signal }: { bytes: number; signal: AbortSignal },
): Promise<Uint8Array> {
  const response = await callApi(address`/_f_/${project}/${name}`, {
    headers: { range: `bytes=0-${bytes - 1}`, accept: '*/*' },
    signal,
  });
  return new Uint8Array(await response.arrayBuffer());
}
