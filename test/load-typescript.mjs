/**
 * `node --import ./test/load-typescript.mjs FILE.ts` does what `--import tsx` does, for modules that name their
 * imports in full as ours do, at half of its cost a process (docs/decisions/030-tests.md).
 * Node 20: later versions strip types themselves; then only the .tsx of the web app needs this.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const cache = join(import.meta.dirname, '../node_modules/.cache/sluice-tests');

// the hooks run in a thread of their own, which loads this file too
if (isMainThread) {
  process.setSourceMapsEnabled(true);
  register(import.meta.url);
}

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !/\.tsx?$/.test(url)) return next(url, context);
  const path = fileURLToPath(url);
  const text = readFileSync(path, 'utf8');
  const kept = join(cache, `${createHash('sha256').update(path).update(text).digest('hex')}.js`);
  const source = readIfThere(kept) ?? (await compile(path, text, kept));
  return { format: 'module', source, shortCircuit: true };
}

/** Compiles a file, and keeps the result for later processes. */
async function compile(path, text, kept) {
  const { transform } = await import('esbuild');
  const { code } = await transform(text, {
    sourcefile: path,
    loader: path.endsWith('x') ? 'tsx' : 'ts',
    format: 'esm',
    target: 'node20',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: 'inline',
    sourcesContent: false,
  });
  mkdirSync(cache, { recursive: true });
  // under its name it is whole: others may read and write it at the same time
  const unfinished = `${kept}.${process.pid}`;
  writeFileSync(unfinished, code);
  renameSync(unfinished, kept);
  return code;
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}
