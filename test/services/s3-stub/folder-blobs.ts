import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStorage } from './blob.ts';

/** A file a part, in a folder that must exist: for objects larger than memory. */
export function folderBlobs(folder: string): BlobStorage {
  return {
    open() {
      const path = join(folder, randomUUID());
      let file: FileHandle | undefined;
      let size = 0;
      let last: Promise<void> = Promise.resolve();
      const append = async (chunk: Buffer): Promise<void> => {
        file ??= await open(path, 'wx');
        await file.writeFile(chunk);
        size += chunk.length;
      };
      const close = async (): Promise<void> => {
        await file?.close();
        file = undefined;
      };
      const drop = (): Promise<void> => rm(path, { force: true });
      return {
        write(chunk) {
          last = last.then(() => append(chunk));
          return last;
        },
        async finish() {
          await last;
          await append(Buffer.alloc(0));
          await close();
          return {
            size,
            chunks: (start, end) => createReadStream(path, { start, end: end - 1 }),
            bytes: () => null,
            drop,
          };
        },
        async discard() {
          await last.catch(() => {});
          await close();
          await drop();
        },
      };
    },
  };
}
