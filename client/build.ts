/**
 * Bundles the client into client/dist: one ES module for pages, which the server serves and the package has, and its source
 * map. `npm run build:console` runs it, and so does `npm ci` (the script `prepare`).
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** The limit of what a page loads, by gzip. */
const budgetBytes = 9 * 1024;
const folder = import.meta.dirname;
const name = 'sluice-client.js';

const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
const { outputFiles } = await build({
  absWorkingDir: folder,
  entryPoints: ['src/index.ts'],
  outfile: `dist/${name}`,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  sourcemap: true,
  banner: { js: `/*! sluice-client ${version}, Apache-2.0 */` },
  write: false,
  logLevel: 'warning',
});
await mkdir(join(folder, 'dist'), { recursive: true });
for (const { path, contents } of outputFiles) {
  // a server may read it meanwhile
  await writeFile(`${path}-${process.pid}`, contents);
  await rename(`${path}-${process.pid}`, path);
  if (!path.endsWith(name)) continue;
  const packed = gzipSync(contents, { level: 9 }).byteLength;
  console.log(`${name}: ${contents.byteLength} bytes, ${packed} gzipped, of ${budgetBytes} at most`);
  if (packed > budgetBytes) throw new Error('the client is too large');
}
