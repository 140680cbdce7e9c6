import { join } from 'node:path';

/** Where tests and programs are built (test/build.ts); absent: a process outside of the test runner compiles what it reads. */
const folder = process.env.SLUICE_TEST_BUILT;

/** What node is to be given to run a program of ours. @param preloads modules that it loads before: files, or data: URLs */
export function programArgs(script: string, preloads: readonly string[] = []): readonly string[] {
  const imports = preloads.flatMap((path) => ['--import', path.startsWith('data:') ? path : built(path)]);
  return [...(folder === undefined ? ['--import', 'tsx'] : []), ...imports, built(script)];
}

/** What node is to be given to run a script of the tests. */
export function scriptArgs(script: string): readonly string[] {
  return folder === undefined ? ['--import', 'tsx', script] : [inFolder(folder, 'tests', script)];
}

function built(path: string): string {
  return folder === undefined ? `./${path}` : inFolder(folder, 'programs', path);
}

function inFolder(folder: string, part: 'tests' | 'programs', path: string): string {
  return join(folder, part, path.replace(/ts$/, 'js'));
}
