import { type Bytes, bytesOf, type Source } from './bytes-of.ts';
import { backOff, type Call, type Client, json, notSluice, SluiceError, send } from './client.ts';
import type { CloudFile, UploadLink } from './files.ts';
import { pathOfFile } from './path-of-file.ts';
import { randomKey } from './random-key.ts';

export type { Source } from './bytes-of.ts';

/** Where the addresses of unfinished uploads are kept, such as localStorage. */
export interface PlaceStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

declare const localStorage: PlaceStorage;

export interface UploadOptions {
  /** By default that of a File, or `file`. */
  readonly name?: string;
  /** By default that of a Blob, or what the name suggests. */
  readonly type?: string;
  readonly signal?: AbortSignal;
  /** Called after each part, with the bytes that are stored. `size` is undefined while a stream goes on. */
  readonly onProgress?: (progress: { readonly sent: number; readonly size: number | undefined }) => void;
  /** A file of one part is sent by one request; a larger one goes on after a cut. By default 8 MiB. */
  readonly partBytes?: number;
  /** Where a large file goes on after a reload of the page. By default localStorage, where there is one. */
  readonly storage?: PlaceStorage;
  /**
   * By which a file is known again, up to 255 characters of ASCII: what is uploaded with the same key is the same file.
   * By default a large File is known by its name, its size and its time.
   */
  readonly key?: string;
  /** Made by `uploadLink`: the client needs no good token then. */
  readonly link?: Pick<UploadLink, 'put' | 'resumable'>;
}

interface Upload extends UploadOptions {
  readonly client: Client;
  readonly bytes: Bytes;
  readonly name: string;
  readonly type: string;
  readonly partBytes: number;
  /** Of its address in the storage; undefined: nothing is kept. */
  readonly place: string | undefined;
}

/** These are other addresses, or none. */
const unfit = /^(upload|upload-link|resumable|_delete_|\.*)$/;
/** Milliseconds for a part. Over a line that is slower smaller ones are sent. */
const timeout = 240_000;
const smallestPart = 2 ** 18;
const gone = /^(not_found|upload_expired)$/;

/** Stores a file. Where the signal stops it, or it fails, the same call goes on later with what has come. */
export async function upload(
  client: Client,
  source: Source,
  options: UploadOptions = {},
): Promise<CloudFile> {
  const { signal, key } = options;
  const file = source as Partial<File>;
  const { name = file.name ?? 'file', type = file.type ?? '', partBytes = 2 ** 23 } = options;
  signal?.throwIfAborted();
  const bytes = bytesOf(source);
  const known = key ?? (file.lastModified && `${name} ${file.lastModified}`);
  const place =
    known && bytes.again ? `sluice ${client.url} ${client.project} ${bytes.size} ${known}` : undefined;
  const all = { ...options, client, bytes, name, type, partBytes, place };
  const stop = (): void => bytes.close(signal?.reason);
  signal?.addEventListener('abort', stop);
  try {
    // a stream may end within it
    const first = await bytes.part(0, partBytes);
    return await (first.size === bytes.size && !unfit.test(name) ? put(all, first) : sendParts(all));
  } finally {
    signal?.removeEventListener('abort', stop);
    bytes.close();
  }
}

/** PUT /_f_/{project}/{name} */
async function put({ client, name, type, key, link, ...more }: Upload, whole: Blob): Promise<CloudFile> {
  const { size } = whole;
  more.onProgress?.({ sent: 0, size });
  const call: Call = {
    method: 'PUT',
    path: link ? pathIn(link.put).replace('{name}', encodeURIComponent(name)) : pathOfFile(client, name),
    ...(await checked(whole, {
      'idempotency-key': key ?? randomKey(),
      ...(type && { 'content-type': type }),
    })),
    signal: more.signal,
    timeout: 2 * timeout,
    repeatable: true,
  };
  const file = await send(client, call, json<CloudFile>);
  more.onProgress?.({ sent: size, size });
  return file;
}

/** https://tus.io/protocols/resumable-upload */
async function sendParts(upload: Upload): Promise<CloudFile> {
  const { client, bytes, partBytes, signal, onProgress } = upload;
  const state: State = { address: keep(upload), offset: 0, isSure: false, most: partBytes };
  for (let tries = 0; ; ) {
    try {
      const answer = await send(client, {
        ...(await nextCall(upload, state)),
        ...{ signal, timeout, repeatable: !state.isSure },
      });
      const { headers } = answer;
      const address = state.address ?? keep(upload, headers.get('location'));
      if (!address || !headers.has('tus-resumable')) throw notSluice(answer.status);
      const offset = Number(headers.get('upload-offset'));
      if (offset > state.offset) tries = 0;
      if (state.isSure) state.most = Math.min(2 * state.most, partBytes);
      Object.assign(state, { address, offset, isSure: true });
      onProgress?.({ sent: offset, size: bytes.size });
      if (headers.get('upload-complete') === '?1') {
        // asked for, as the answer to the last part may have been lost
        const call = { method: 'GET', path: address, signal, repeatable: true };
        const file = await send(client, call, json<CloudFile>);
        keep(upload, null);
        return file;
      }
    } catch (failure) {
      if (!(failure instanceof SluiceError)) throw failure;
      const isGone = state.address && bytes.again && gone.test(failure.code) && tries < client.retries;
      if (isGone) state.address = keep(upload, null);
      else await backOff(client, failure, tries, signal);
      tries++;
      state.isSure = false;
      state.most = Math.max(state.most / 2, Math.min(partBytes, smallestPart));
    }
  }
}

/** Of an upload at the server. */
interface State {
  /** Its path; null: it has not begun. */
  address: string | null;
  offset: number;
  /** Whether the server has just said the offset. */
  isSure: boolean;
  /** Bytes of the next part. */
  most: number;
}

type Next = Pick<Call, 'method' | 'path' | 'headers' | 'bytes'>;

async function nextCall(
  { client, bytes, name, type, link }: Upload,
  { address, offset, isSure, most }: State,
): Promise<Next> {
  const tus = { 'tus-resumable': '1.0.0' };
  // not HEAD, whose answers do not say what is wrong
  if (address && !isSure)
    return { method: 'POST', path: address, headers: { ...tus, 'x-http-method-override': 'HEAD' } };
  const part = address && (await bytes.part(offset, most));
  const length = bytes.size === undefined ? undefined : { 'upload-length': `${bytes.size}` };
  if (part)
    return {
      ...{ method: 'PATCH', path: address },
      ...(await checked(part, {
        ...{ ...tus, ...length, 'upload-offset': `${offset}` },
        'content-type': 'application/offset+octet-stream',
      })),
    };
  const text = (value: string): string => base64(new TextEncoder().encode(value));
  return {
    method: 'POST',
    path: link ? pathIn(link.resumable) : pathOfFile(client, 'resumable'),
    headers: {
      ...{ ...tus, ...(length ?? { 'upload-defer-length': '1' }) },
      'upload-metadata': `filename ${text(name)}${type && `,filetype ${text(type)}`}`,
    },
  };
}

/**
 * The address of an upload that goes on.
 * @param address is kept from now on; null: none is; undefined: the one that was kept
 */
function keep({ place, storage }: Upload, address?: string | null): string | null {
  try {
    const store = storage ?? localStorage;
    if (!place) return address ?? null;
    if (address === undefined) return store.getItem(place);
    if (address === null) store.removeItem(place);
    else store.setItem(place, address);
  } catch {
    // there is none, or it is full or forbidden: uploads go on after a cut, and not after a reload
  }
  return address ?? null;
}

/** Bytes, and their digest where the platform has one: the server takes them if they are right. */
async function checked(
  blob: Blob,
  headers: Readonly<Record<string, string>>,
): Promise<Pick<Call, 'bytes' | 'headers'>> {
  const bytes = await blob.arrayBuffer();
  // a page that came by plain HTTP has none
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', bytes);
  return {
    bytes,
    headers: digest
      ? { ...headers, 'content-digest': `sha-256=:${base64(new Uint8Array(digest))}:` }
      : headers,
  };
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function pathIn(address: string): string {
  return address.slice(address.indexOf('/_f_/'));
}
