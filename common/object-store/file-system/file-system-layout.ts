import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { assertObjectKey } from '../object-key.ts';
import type { ObjectDescription } from '../object-store.ts';

/** What an object without a description is. */
export const undescribed: ObjectDescription = { contentType: 'application/octet-stream', metadata: {} };

/** Where the parts of a file system store lie. All paths are absolute. */
export interface FileSystemLayout {
  readonly temporary: string;
  readonly objects: string;
  /** The file whose existence is the object's. Throws on a bad key. */
  objectPath(key: string): string;
  /** The JSON text of the object's description. Throws on a bad key. */
  metaPath(key: string): string;
  readonly unfinished: string;
  /** The bytes of an object that may be left unfinished. Throws on a bad key. */
  unfinishedPath(key: string): string;
  /** A file that is being written. Throws on what is no name of one. */
  temporaryPath(id: string): string;
  /** A new one, for bytes or the description of this object. */
  newTemporaryPath(key: string): string;
  /** Whether a file was made by `newTemporaryPath` for this object. @param name its own, without folder */
  isTemporaryOf(key: string, name: string): boolean;
}

export function fileSystemLayout(root: string): FileSystemLayout {
  const objects = join(root, 'objects');
  const meta = join(root, 'meta');
  const temporary = join(root, 'tmp');
  const unfinished = join(root, 'unfinished');
  return {
    temporary,
    unfinished,
    objects,
    objectPath(key) {
      assertObjectKey(key);
      return join(objects, key);
    },
    metaPath(key) {
      assertObjectKey(key);
      return join(meta, `${key}.json`);
    },
    unfinishedPath(key) {
      assertObjectKey(key);
      return join(unfinished, hashOf(key));
    },
    temporaryPath(id) {
      assertObjectKey(id);
      if (id.includes('/')) throw new Error(`bad upload id ${JSON.stringify(id)}`);
      return join(temporary, id);
    },
    newTemporaryPath: (key) => join(temporary, `${temporaryPrefix(key)}${randomUUID()}`),
    isTemporaryOf: (key, name) => name.startsWith(temporaryPrefix(key)),
  };
}

function temporaryPrefix(key: string): string {
  return `${hashOf(key)}.`;
}

/** A key may be longer than a file's name, and holds slashes. */
function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
