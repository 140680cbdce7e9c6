import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { DurableDirectories } from '#kernel/durable-files/durable-directories.ts';
import type { ObjectDescription } from '../object-description.ts';
import { assertObjectKey } from '../object-key.ts';

/** The default description. */
export const undescribed: ObjectDescription = { contentType: 'application/octet-stream', metadata: {} };

/** Ends the name of a description's file. */
const descriptionSuffix = '.json';

/** The paths in a file system store. All are absolute. Bad keys throw. */
export class FileSystemLayout {
  readonly directories: DurableDirectories;
  readonly objects: string;
  readonly temporary: string;
  readonly unfinished: string;
  readonly descriptions: string;

  constructor(root: string, directories: DurableDirectories) {
    this.directories = directories;
    this.objects = join(root, 'objects');
    this.temporary = join(root, 'tmp');
    this.unfinished = join(root, 'unfinished');
    this.descriptions = join(root, 'meta');
  }

  /** The file of the object: the object exists if the file does. */
  objectPath(key: string): string {
    assertObjectKey(key);
    return join(this.objects, key);
  }

  /** The JSON text of the object's description. */
  metaPath(key: string): string {
    assertObjectKey(key);
    return join(this.descriptions, `${key}${descriptionSuffix}`);
  }

  /** The key of the object that a file of `descriptions` describes; null: it describes none. */
  describedKey(path: string): string | null {
    return path.endsWith(descriptionSuffix) ? path.slice(0, -descriptionSuffix.length) : null;
  }

  /** The bytes of an unfinished resumable object. */
  unfinishedPath(key: string): string {
    assertObjectKey(key);
    return join(this.unfinished, hashOf(key));
  }

  /** A file that is being written. Throws on an invalid id. */
  temporaryPath(id: string): string {
    assertObjectKey(id);
    if (id.includes('/')) throw new Error(`bad upload id ${JSON.stringify(id)}`);
    return join(this.temporary, id);
  }

  /** A new temporary path, for bytes or the description of this object. */
  newTemporaryPath(key: string): string {
    return join(this.temporary, `${hashOf(key)}.${randomUUID()}`);
  }

  /** Whether `newTemporaryPath` made a file for this object. @param name without folder */
  isTemporaryOf(key: string, name: string): boolean {
    return name.startsWith(`${hashOf(key)}.`);
  }
}

/** A hash, because a key contains slashes and may be longer than a file name. */
function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
