import { FileTrash } from '#gateway/access/file-trash.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import type { ObjectStore } from '#objects/object-store.ts';

/** For a gateway whose deletions are final. */
export const noTrash: Pick<FileTrash, 'takes' | 'put' | 'restore' | 'emptying'> = {
  takes: () => false,
  async put() {},
  async restore() {},
  emptying: (_, work) => work(),
};

/** A trash in which nobody else deletes anything. */
export function ownTrash(args: {
  readonly cloudFiles: CloudFiles;
  readonly store: Pick<ObjectStore, 'head'>;
  readonly days: number;
  readonly now?: () => number;
}): FileTrash {
  const marks = { mark: async () => {}, unmark: async () => {}, emptied: async () => new Set<string>() };
  return new FileTrash({ ...args, marks });
}
