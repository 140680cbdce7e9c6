import { readdir, readFile } from 'node:fs/promises';
import type { Test } from 'tap';
import { variantsPrefix } from '#gateway/images/variant-key.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { serveGatewayOn } from './gateway-on-s3.ts';
import { testDeployment } from './new-file.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const presets: readonly ImagePreset[] = [
  { name: 'thumb', width: 64, height: 64, fit: 'cover' },
  { name: 'page', width: 200, height: 200, fit: 'inside' },
];

const never = new AbortController().signal;

/** A gateway with presets over files in a folder, and requests for its pictures. */
export async function picturesOf(t: Test, options: Parameters<typeof serveGatewayOn>[2] = {}) {
  const root = await temporaryFolder(t);
  const store = await createFileSystemStore({ root });
  const gateway = await serveGatewayOn(t, store, { presets, ...options });
  const put = async (name: string, bytes: Uint8Array, type?: string): Promise<string> => {
    const headers = type === undefined ? {} : { 'content-type': type };
    const init = { method: 'PUT', body: Buffer.from(bytes), headers };
    const answer = await fetch(`${gateway.baseUrl}/_f_/demo/${name}`, init);
    return ((await answer.json()) as { name: string }).name;
  };
  const get = (name: string, preset: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${gateway.baseUrl}/_f_/demo/${name}?preset=${preset}`, { headers, method });
  /** The bytes of a picture that is made. */
  const picture = async (name: string, preset: string, accept = 'image/png, */*'): Promise<Buffer> => {
    const answer = await get(name, preset, { accept });
    if (answer.status !== 200) throw new Error(await answer.text());
    return Buffer.from(await answer.arrayBuffer());
  };
  /** Keys of the stored pictures. */
  const variants = async (): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of store.list(variantsPrefix(testDeployment), never)) keys.push(key);
    return keys;
  };
  return { ...gateway, store, put, get, picture, variants, pids };
}

/** The processes of pictures that this one has begun. */
async function pids(): Promise<number[]> {
  const found: number[] = [];
  for (const name of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [line, status] = await Promise.all(
      ['cmdline', 'status'].map((file) => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '')),
    );
    const isOurs = new RegExp(`^PPid:\\s+${process.pid}$`, 'm').test(status ?? '');
    if (isOurs && line?.includes('picture-program')) found.push(Number(name));
  }
  return found;
}
