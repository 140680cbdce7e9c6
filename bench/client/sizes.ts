/**
 * Question: how many bytes does the client add to a page? Minified by esbuild, and gzip.
 * Command: node --import tsx bench/client/sizes.ts
 */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const source = join(import.meta.dirname, '../../client/src');

/** The size of a page that only uses these names; without names it uses everything. @returns bytes, plain and by gzip */
export async function sizeOf(
  names: readonly string[] = [],
): Promise<{ readonly minified: number; readonly gzip: number }> {
  const what = names.length > 0 ? `{ ${names.join(', ')} }` : '*';
  const { outputFiles } = await build({
    stdin: { contents: `export ${what} from './index.ts';`, resolveDir: source, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'warning',
  });
  const { contents } = outputFiles[0] as { readonly contents: Uint8Array };
  return { minified: contents.byteLength, gzip: gzipSync(contents, { level: 9 }).byteLength };
}

if (process.argv[1] === import.meta.filename) {
  for (const names of [['connect', 'space', 'text', 'number', 'find'], ['find'], ['insert'], ['live'], []])
    console.log(`${names.join(', ') || 'everything'}: ${JSON.stringify(await sizeOf(names))}`);
}
