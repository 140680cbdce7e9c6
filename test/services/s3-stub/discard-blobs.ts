import type { BlobStorage } from './blob.ts';
import { s3Error } from './s3-error.ts';

/** Counts only, for tests that send more than they look into. */
export const discardBlobs: BlobStorage = {
  open() {
    let size = 0;
    return {
      write(chunk) {
        size += chunk.length;
        return undefined;
      },
      async finish() {
        return {
          size,
          // biome-ignore lint/correctness/useYield: there is nothing to give
          async *chunks() {
            throw s3Error('NotImplemented', 'This store keeps no bytes');
          },
          bytes: () => null,
          async drop() {},
        };
      },
      async discard() {},
    };
  },
};
