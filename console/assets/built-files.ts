import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** A file of the built web app. */
export interface BuiltFile {
  readonly type: string;
  /** Of the plain bytes; weak, because the compressed ones have the same. */
  readonly etag: string;
  readonly plain: Uint8Array;
  /** Compressed forms that the build made, by content coding. */
  readonly compressed: Readonly<Partial<Record<Coding, Uint8Array>>>;
}

/** The better one first. */
export const codings = ['br', 'gzip'] as const;
export type Coding = (typeof codings)[number];
const endings: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' };

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

export const indexFile = 'index.html';

/**
 * All files of the web app by their paths below its folder, such as `assets/main-ABC.js`. They are read once: a request only
 * names one of them, and no path of it reaches the file system. Null: it is not built.
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
    const found = codings.map((coding) => [coding, contents.get(name + endings[coding])] as const);
    const compressed = Object.fromEntries(found.filter(([, bytes]) => bytes !== undefined));
    const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
    files.set(name, { type, plain, compressed, etag: `W/"${digest}"` });
  }
  return files;
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
