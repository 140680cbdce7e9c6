import type { Blob, BlobStorage } from './blob.ts';

export const memoryBlobs: BlobStorage = {
  open() {
    const kept: Buffer[] = [];
    return {
      write(chunk) {
        kept.push(chunk);
        return undefined;
      },
      async finish() {
        return memoryBlob(Buffer.concat(kept));
      },
      async discard() {
        kept.length = 0;
      },
    };
  },
};

function memoryBlob(content: Buffer): Blob {
  return {
    size: content.length,
    async *chunks(start, end) {
      yield content.subarray(start, end);
    },
    bytes: () => content,
    async drop() {},
  };
}
