import { attemptWith } from './attempt-with.ts';
import { type Bytes, bytesOf, type Source } from './bytes-of.ts';
import { type Call, type Client, json, notSluice, send } from './client.ts';
import type { CloudFile, UploadLink } from './files.ts';
import { keepAddress } from './keep-address.ts';
import { pathOfFile } from './path-of-file.ts';
import { queryOf, withQuery } from './query-of.ts';
import { randomKey } from './random-key.ts';
import { reporting } from './reporting.ts';
import { resumeAfter } from './resume-after.ts';
import { sendDirect } from './send-direct.ts';

export type { Source } from './bytes-of.ts';

/** Stores the addresses of unfinished uploads, such as localStorage. */
export interface PlaceStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export interface UploadOptions {
  /** By default the name of a File, or `file`. */
  readonly name?: string;
  /** By default the type of a Blob, or what the name suggests. */
  readonly type?: string;
  /** The id of a folder, or `new` for one that this file makes: `folder` of the answer (docs/api.md, "Folders"). */
  readonly folder?: string;
  /** Where the file is below the folder; by default its name. */
  readonly path?: string;
  /** Seconds that the file stays. */
  readonly expiresIn?: number;
  readonly signal?: AbortSignal;
  /**
   * Called after each part, with the bytes stored so far; in a page also meanwhile, with the bytes sent. They become fewer
   * when a part is sent again. `size` is undefined until a stream ends.
   */
  readonly onProgress?: (progress: { readonly sent: number; readonly size: number | undefined }) => void;
  /** A file of one part is sent by one request; a larger upload is resumable. By default 8 MiB. */
  readonly partBytes?: number;
  /** Lets a large upload resume after a reload of the page. By default localStorage, if there is one. */
  readonly storage?: PlaceStorage;
  /**
   * Identifies the file, up to 255 characters of ASCII: uploads with the same key are the same file. By default a large File
   * is identified by its name, size and time, and the digest of its first part.
   */
  readonly key?: string;
  /**
   * Whether the bytes go to the bucket itself, and not through the service. By default a file of more than one part does, if
   * the service offers it (S3_PUBLIC_ENDPOINT).
   */
  readonly direct?: boolean;
  /** Made by `uploadLink`; then the client needs no valid token. */
  readonly link?: Pick<UploadLink, 'put' | 'resumable'> & Partial<UploadLink>;
}

export interface Upload extends UploadOptions {
  readonly client: Client;
  readonly bytes: Bytes;
  readonly name: string;
  readonly type: string;
  readonly partBytes: number;
  /** What is said of the file in the query of the first request. */
  readonly query: string;
}

export interface LargeUpload extends Upload {
  /** The key of its address in the storage; undefined: not stored. */
  readonly storageKey: string | undefined;
}

/** Names that a PUT can't have: their paths mean something else, or nothing. */
const reservedNames = /^(upload|upload-link|resumable|direct|options|_delete_|\.*)$/;
/** Milliseconds for a part. On a slower connection, smaller parts are sent. */
const timeout = 240_000;
const smallestPart = 2 ** 18;

/** Uploads a file. If it fails, or the signal aborts it, the same call resumes it later. */
export async function upload(
  client: Client,
  source: Source,
  options: UploadOptions = {},
): Promise<CloudFile> {
  const { signal, key, direct, folder, path, expiresIn } = options;
  const file = source as Partial<File>;
  const { name = file.name ?? 'file', type = file.type ?? '', partBytes = 2 ** 23 } = options;
  signal?.throwIfAborted();
  const bytes = bytesOf(source);
  const query = queryOf({ folder, path, expiresIn });
  const all = { ...options, client, bytes, name, type, partBytes, query };
  const stop = (): void => bytes.close(signal?.reason);
  signal?.addEventListener('abort', stop);
  try {
    // a stream may end within the first part
    const first = await bytes.part(0, partBytes);
    if (!direct && first.size === bytes.size && !reservedNames.test(name)) return await put(all, first);
    let known = key;
    if (!known && file.lastModified) {
      const [start, digest = checksumOf(start)] = await digested(first);
      known = `${name} ${file.lastModified} ${digest}`;
    }
    const storageKey =
      known && bytes.isRepeatable
        ? `sluice ${client.url} ${client.project} ${bytes.size} ${known}${query}`
        : undefined;
    // what has ended within the first part can be sent again
    const large = { ...all, storageKey, bytes: first.size === bytes.size ? bytesOf(first) : bytes };
    return await ((await isDirect(large)) ? sendDirect(large) : sendParts(large));
  } finally {
    signal?.removeEventListener('abort', stop);
    bytes.close();
  }
}

/** Chooses the way of an upload, which goes on by the way that it began. */
async function isDirect(upload: LargeUpload): Promise<boolean> {
  const { client, bytes, direct, link, signal } = upload;
  const way = keepAddress(upload)?.split('/')[3];
  if (direct && bytes.size === undefined) throw new TypeError('A stream is not sent directly');
  if (way && direct === undefined) return way === 'direct';
  if (way !== (direct ? 'direct' : 'resumable')) keepAddress(upload, null);
  if (direct !== undefined || bytes.size === undefined || (link && !link.direct)) return !!direct;
  const call = { method: 'GET', path: pathOfFile(client, 'options'), signal, repeatable: true };
  return (await send(client, call, json<Offer>)).direct.origin !== null;
}

interface Offer {
  /** Of the bucket; null: pages can't send to it. */
  readonly direct: { readonly origin: string | null };
}

/** PUT /_f_/{project}/{name} */
async function put(upload: Upload, whole: Blob): Promise<CloudFile> {
  const { type, key, signal, onProgress } = upload;
  const { size } = whole;
  const report = (sent: number): void => onProgress?.({ sent, size });
  report(0);
  const call: Call = {
    method: 'PUT',
    path: pathOfUpload(upload, 'put'),
    ...(await checked(whole, 2 * timeout, signal, {
      'idempotency-key': key ?? randomKey(),
      ...(type && { 'content-type': type }),
    })),
    signal,
    repeatable: true,
  };
  const file = await send(reporting(upload, report), call, json<CloudFile>);
  report(size);
  return file;
}

/** https://tus.io/protocols/resumable-upload */
async function sendParts(upload: LargeUpload): Promise<CloudFile> {
  const { bytes, partBytes, signal, onProgress } = upload;
  const state: UploadState = { address: keepAddress(upload), offset: 0, isSure: false, most: partBytes };
  const client = reporting(upload, (sent) => onProgress?.({ sent: state.offset + sent, size: bytes.size }));
  for (let tries = 0; ; ) {
    try {
      const answer = await send(client, {
        ...(await nextCall(upload, state)),
        signal,
        repeatable: !state.isSure,
      });
      const { headers } = answer;
      const address = state.address ?? keepAddress(upload, headers.get('location'));
      if (!address || !headers.has('tus-resumable')) throw notSluice(answer.status);
      const offset = Number(headers.get('upload-offset'));
      if (offset > state.offset) tries = 0;
      if (state.isSure) state.most = Math.min(2 * state.most, partBytes);
      Object.assign(state, { address, offset, isSure: true });
      onProgress?.({ sent: offset, size: bytes.size });
      if (headers.get('upload-complete') === '?1') {
        // read from the service, as the answer to the last part may have been lost
        const call = { method: 'GET', path: address, signal, repeatable: true };
        const file = await send(client, call, json<CloudFile>);
        keepAddress(upload, null);
        return file;
      }
    } catch (failure) {
      state.address = await resumeAfter(failure, upload, state.address, tries++);
      state.isSure = false;
      state.most = Math.max(state.most / 2, Math.min(partBytes, smallestPart));
    }
  }
}

/** The state of an upload at the server. */
interface UploadState {
  /** Its path; null: not started. */
  address: string | null;
  offset: number;
  /** Whether the offset is the server's latest. */
  isSure: boolean;
  /** Most bytes of the next part. */
  most: number;
}

type UploadCall = Pick<Call, 'method' | 'path' | 'headers' | 'attempt'>;

async function nextCall(upload: Upload, { address, offset, isSure, most }: UploadState): Promise<UploadCall> {
  const { bytes, name, type, signal } = upload;
  const tus = { 'tus-resumable': '1.0.0' };
  // not HEAD, whose errors have no body
  if (address && !isSure)
    return {
      ...{ method: 'POST', path: address, headers: { ...tus, 'x-http-method-override': 'HEAD' } },
      ...attemptWith(undefined, timeout, signal),
    };
  const part = address && (await bytes.part(offset, most));
  const length = bytes.size === undefined ? undefined : { 'upload-length': `${bytes.size}` };
  if (part)
    return {
      ...{ method: 'PATCH', path: address },
      ...(await checked(part, timeout, signal, {
        ...{ ...tus, ...length, 'upload-offset': `${offset}` },
        'content-type': 'application/offset+octet-stream',
      })),
    };
  const text = (value: string): string => base64(new TextEncoder().encode(value));
  return {
    method: 'POST',
    path: pathOfUpload(upload, 'resumable'),
    ...attemptWith(undefined, timeout, signal),
    headers: {
      ...{ ...tus, ...(length ?? { 'upload-defer-length': '1' }) },
      'upload-metadata': `filename ${text(name)}${type && `,filetype ${text(type)}`}`,
    },
  };
}

/** Bytes, and their digest if the platform can compute it: the server checks it. */
async function checked(
  blob: Blob,
  timeout: number,
  signal: AbortSignal | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<Pick<Call, 'attempt' | 'headers'>> {
  const [bytes, digest] = await digested(blob);
  return {
    ...attemptWith(bytes, timeout, signal),
    headers: { ...headers, ...(digest && { 'content-digest': `sha-256=:${digest}:` }) },
  };
}

/** The bytes, and their SHA-256; undefined: pages without HTTPS have no `subtle`. */
async function digested(blob: Blob): Promise<readonly [bytes: ArrayBuffer, digest: string | undefined]> {
  const bytes = await blob.arrayBuffer();
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', bytes);
  return [bytes, digest && base64(new Uint8Array(digest))];
}

/** Tells files apart where the platform computes no digests. */
function checksumOf(bytes: ArrayBuffer): string {
  let [one, other] = [0, 0];
  for (const byte of new Uint8Array(bytes)) {
    one = Math.imul(one ^ byte, 0x01000193);
    other = Math.imul(other + byte, 0x9e3779b1) ^ (other >>> 15);
  }
  return `${one} ${other}`;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The path that an upload begins at, with what is said of the file. */
export function pathOfUpload(
  { client, link, name, query }: Upload,
  way: 'put' | 'resumable' | 'direct',
): string {
  const path = link?.[way]?.replace(/.*(?=\/_f_\/)/, '').replace('{name}', encodeURIComponent(name));
  return withQuery(path ?? pathOfFile(client, way === 'put' ? name : way), query);
}
