import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What node is to be given to run a file of ours (test/load-typescript.mjs). */
export const loadTypescript: readonly string[] = [
  '--import',
  pathToFileURL(join(import.meta.dirname, '../load-typescript.mjs')).href,
];
