import type { Client } from './client.ts';
import type { FileOrName } from './files.ts';

/** Without a file: that of all files of the project. */
export function pathOfFile({ project }: Client, file?: FileOrName): string {
  const name = typeof file === 'object' ? file.name : file;
  return `/_f_/${project}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;
}
