import type { Client } from './client.ts';
import type { FileOrName } from './files.ts';

/** The path of a file; without one, the path of the project's files. */
export function pathOfFile({ project }: Client, file?: FileOrName): string {
  const name = typeof file === 'object' ? file.name : file;
  return `/_f_/${project}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;
}
