import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What node is to be given to run a file of ours (test/load-typescript.mjs). */
export const loadTypescript: readonly string[] = [
  '--import',
  pathToFileURL(join(import.meta.dirname, '../load-typescript.mjs')).href,
];

/** Where the programs are compiled, as in the image (test/run.ts); absent: a process compiles what it reads. */
const programs = process.env.SLUICE_TEST_PROGRAMS;

/** What node is to be given to run a program of ours. @param preloads modules that it loads before: files, or data: URLs */
export function programArgs(script: string, preloads: readonly string[] = []): readonly string[] {
  const read = (path: string): string =>
    programs === undefined ? `./${path}` : join(programs, path.replace(/ts$/, 'js'));
  const imports = preloads.flatMap((path) => ['--import', path.startsWith('data:') ? path : read(path)]);
  return [...(programs === undefined ? loadTypescript : []), ...imports, read(script)];
}
