import type { Abortable } from './ask.ts';
import { type Client, json, send } from './client.ts';
import { pathOfFile } from './path-of-file.ts';
import { queryOf, withQuery } from './query-of.ts';

/** A stored file. */
export interface CloudFile {
  readonly _id: string;
  /** The name in its address. */
  readonly name: string;
  readonly originalName: string;
  readonly ownedBy: string;
  /** Its address. */
  readonly s3Link: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly contentType: string;
  readonly size: number;
  /** Hexadecimal; present if the service computes it. */
  readonly sha256?: string;
  /** How the bytes of a direct upload are known to be right (docs/api.md, "Direct uploads"). */
  readonly verified?: 'size' | 'md5' | 'checksum' | 'bytes';
  /** The folder, and where the file is below it. */
  readonly folder?: string;
  readonly path?: string;
  /** ISO 8601. From then on the file is gone. */
  readonly expiresAt?: string;
  /** ISO 8601. In the trash since then. */
  readonly trashedAt?: string;
  /** Absent: published. */
  readonly state?: 'checking' | 'refused';
  /** Pixels, as shown; present of images and videos where the service knows it. */
  readonly width?: number;
  readonly height?: number;
  /** Seconds. */
  readonly duration?: number;
}

/** A file, or its name. */
export type FileOrName = string | Pick<CloudFile, 'name'>;

export interface FilesAsked {
  /** Part of the original name. */
  readonly name?: string;
  /** Such as `image/png`, or `image/` for all images. */
  readonly type?: string;
  /** The time of the upload: a day, or a time in the form of RFC 3339. */
  readonly from?: string;
  readonly to?: string;
  /** Only files of this folder. */
  readonly folder?: string;
  readonly sort?: 'createdAt' | 'name';
  readonly order?: 'asc' | 'desc';
  readonly sha256?: string;
  /** Whether to list deleted files that can be restored instead. */
  readonly trash?: boolean;
  /** Files per page: 1 to 200. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** Whether to count the files that match. */
  readonly count?: boolean;
}

export interface FilesPage {
  readonly files: readonly CloudFile[];
  /** null: this is the last page. */
  readonly next: string | null;
  readonly count?: number;
}

/** A page of the files of the project, the newest first by default. */
export async function filesPage(
  client: Client,
  asked: FilesAsked = {},
  { signal }: Abortable = {},
): Promise<FilesPage> {
  const path = withQuery(pathOfFile(client), queryOf(asked));
  return send(client, { method: 'GET', path, signal, repeatable: true }, json<FilesPage>);
}

/** All files, page by page. */
export async function* listFiles(
  client: Client,
  asked: FilesAsked = {},
  options?: Abortable,
): AsyncGenerator<CloudFile, void, undefined> {
  let after = asked.after ?? null;
  do {
    const page: FilesPage = await filesPage(client, after === null ? asked : { ...asked, after }, options);
    yield* page.files;
    after = page.next;
  } while (after !== null);
}

export async function deleteFile(
  client: Client,
  file: FileOrName,
  { signal }: Abortable = {},
): Promise<void> {
  await send(client, { method: 'DELETE', path: pathOfFile(client, file), signal, repeatable: true });
}

export interface DeletedFiles {
  readonly deleted: number;
  readonly failed: readonly {
    readonly name: string;
    readonly code: 'not_found' | 'file_in_use' | 'unavailable';
    readonly message: string;
  }[];
}

/** Deletes up to 1,000 files. `failed` lists the files that were not deleted. */
export function deleteFiles(
  client: Client,
  files: readonly FileOrName[],
  options?: Abortable,
): Promise<DeletedFiles> {
  const names = files.map((file) => (typeof file === 'object' ? file.name : file));
  return post(client, pathOfFile(client, '_delete_'), { names }, options);
}

export interface FileLink {
  readonly link: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** Makes a link that opens a file without a token. @param expiresIn seconds, up to a week. */
export function link(
  client: Client,
  file: FileOrName,
  { expiresIn, ...options }: { readonly expiresIn: number } & Abortable,
): Promise<FileLink> {
  return post(client, `${pathOfFile(client, file)}/link`, { expiresIn }, options);
}

export interface UploadLinkOptions extends Abortable {
  /** Seconds, up to a week. */
  readonly expiresIn: number;
  /** Most bytes of a file. */
  readonly maxBytes?: number;
  /** Such as `image/png`, or `image/` for all images. */
  readonly type?: string;
  /** Files whose bytes are not of the type are refused as well. */
  readonly verifyType?: boolean;
  /** Most uploads. */
  readonly times?: number;
  /** Seconds that a file stays, unless its uploader says less. */
  readonly fileExpiresIn?: number;
}

/** Addresses for uploads without a token; `upload` takes them as well. */
export interface UploadLink {
  readonly form: string;
  readonly resumable: string;
  readonly direct: string;
  readonly put: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

export function uploadLink(client: Client, { signal, ...asked }: UploadLinkOptions): Promise<UploadLink> {
  return post(client, pathOfFile(client, 'upload-link'), asked, { signal });
}

async function post<Answer>(
  client: Client,
  path: string,
  body: object,
  options: Abortable = {},
): Promise<Answer> {
  return send(client, { method: 'POST', path, body, ...options, repeatable: true }, json<Answer>);
}
