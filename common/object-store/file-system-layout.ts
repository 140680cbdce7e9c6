import { join } from 'node:path';
import { assertObjectKey } from './object-key.ts';

/** Where the parts of a file system store lie. All paths are absolute. */
export interface FileSystemLayout {
  readonly temporary: string;
  readonly objects: string;
  /** The file whose existence is the object's. Throws on a bad key. */
  objectPath(key: string): string;
  /** The JSON text of the object's description. Throws on a bad key. */
  metaPath(key: string): string;
  /** A file that is being written. Throws on what is no name of one. */
  temporaryPath(id: string): string;
}

export function fileSystemLayout(root: string): FileSystemLayout {
  const objects = join(root, 'objects');
  const meta = join(root, 'meta');
  const temporary = join(root, 'tmp');
  return {
    temporary,
    objects,
    objectPath(key) {
      assertObjectKey(key);
      return join(objects, key);
    },
    metaPath(key) {
      assertObjectKey(key);
      return join(meta, `${key}.json`);
    },
    temporaryPath(id) {
      assertObjectKey(id);
      if (id.includes('/')) throw new Error(`bad upload id ${JSON.stringify(id)}`);
      return join(temporary, id);
    },
  };
}
