import { SmallFiles } from '#gateway/download/small-files.ts';
import { ReaderSlots } from '#kernel/limits/reader-slots.ts';

/** Downloads that never wait. */
export function plentyOfSlots(): ReaderSlots {
  const full = 'too many downloads';
  return new ReaderSlots({ limit: 1000, queueLimit: 0, full, minRate: 0, ratePeriod: 1e9, lendsAll: true });
}

/** Every download is read from its store. */
export function noSmallFiles(): SmallFiles {
  return new SmallFiles({ bytes: 0, singleWriter: true });
}
