import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** A file of the built web app. */
export interface BuiltFile {
  readonly type: string;
  /** Of the plain bytes; weak, because the compressed bytes have the same tag. */
  readonly etag: string;
  readonly plain: Uint8Array;
  /** The compressed bytes, if the build made them. */
  readonly gzip: Uint8Array | undefined;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

export const indexFile = 'index.html';

/**
 * All files of the web app by their paths below its folder, such as `assets/main-ABC.js`. They are read once, so no
 * path of a request reaches the file system. Null: the web app is not built.
 */
export async function readBuiltFiles(folder: string): Promise<ReadonlyMap<string, BuiltFile> | null> {
  const names = await namesIn(folder);
  if (!names.includes(indexFile)) return null;
  const contents = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  );
  const files = new Map<string, BuiltFile>();
  for (const [name, plain] of contents) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    files.set(name, builtFile(type, plain, contents.get(`${name}.gz`)));
  }
  return files;
}

export function builtFile(type: string, plain: Uint8Array, gzip?: Uint8Array): BuiltFile {
  const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  return { type, plain, gzip, etag: `W/"${digest}"` };
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    const found = await readdir(folder, { recursive: true, withFileTypes: true });
    return found
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
