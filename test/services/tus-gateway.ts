import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { collect } from '../integration/object-store-contract.ts';
import { serveGatewayOn } from './gateway-on-s3.ts';
import { testDeployment } from './new-file.ts';
import { openStubStore } from './stub-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

const never = new AbortController().signal;
export const chunkType = 'application/offset+octet-stream';

async function fileSystem(t: Test): Promise<ObjectStore> {
  const root = await temporaryFolder(t);
  const store = await createFileSystemStore({ root });
  t.teardown(async () => mustBeEmpty(await readdir(join(root, 'unfinished'))));
  return store;
}

async function stub(t: Test): Promise<ObjectStore> {
  const { stub, store } = await openStubStore(t);
  t.teardown(() => mustBeEmpty(stub.openUploads()));
  return store;
}

function mustBeEmpty(left: readonly unknown[]): void {
  if (left.length > 0) throw new Error(`bytes are left: ${JSON.stringify(left)}`);
}

/** Stores that must hold no bytes of an upload when a test ends. */
export const tusStores = { 'file system': fileSystem, S3: stub };

interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array;
}

/** The gateway over a store, and a client of tus that sends what it is given. */
export async function serveTus(
  t: Test,
  store: ObjectStore,
  options: Parameters<typeof serveGatewayOn>[2] = {},
) {
  const gateway = await serveGatewayOn(t, store, { maxUploadBytes: 1_000_000, ...options });
  const ask = async (path: string, { method = 'HEAD', headers = {}, body }: Ask = {}) => {
    const response = await fetch(new URL(path, gateway.baseUrl), {
      method,
      headers: { 'tus-resumable': '1.0.0', ...headers },
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
    });
    const text = await response.text();
    const { headers: received, status } = response;
    return { status, offset: received.get('upload-offset'), headers: received, text };
  };
  const begin = async (length: number | null, headers: Record<string, string> = {}, body?: Uint8Array) => {
    const size = length === null ? { 'upload-defer-length': '1' } : { 'upload-length': `${length}` };
    const answer = await ask('/_f_/demo/resumable', {
      method: 'POST',
      headers: { ...size, ...headers, ...(body === undefined ? {} : { 'content-type': chunkType }) },
      ...(body === undefined ? {} : { body }),
    });
    return { ...answer, path: answer.headers.get('location') ?? '' };
  };
  const patch = (path: string, offset: number, body: Uint8Array, headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'PATCH',
      headers: { 'upload-offset': `${offset}`, 'content-type': chunkType, ...headers },
      body,
    });
  /** What is stored that is no file. */
  const left = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of store.list(`${testDeployment}/_resumable/`, never)) found.push(key);
    return found;
  };
  const stored = async (): Promise<Buffer[]> =>
    Promise.all(
      [...gateway.rows.values()].map(({ objectKey }) => collect(store.read(objectKey, null, never))),
    );
  const objects = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of store.list('', never)) found.push(key);
    return found;
  };
  return { ...gateway, ask, begin, patch, left, stored, objects };
}
