import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const { imports } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** What a module imports, as a path from the root of the checkout; a package keeps its name. @param from a path from the root */
export function importPath(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  const room = `${specifier.split('/')[0]}/`;
  const folder = imports[`${room}*`];
  return folder === undefined ? specifier : normalize(folder.replace('*', specifier.slice(room.length)));
}
