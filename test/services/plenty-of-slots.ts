import { DownloadSlots } from '#gateway/download/download-slots.ts';
import { SmallFiles } from '#gateway/download/small-files.ts';

/** Downloads that never wait. */
export function plentyOfSlots(): DownloadSlots {
  return new DownloadSlots({ limit: 1000, minRate: 0, ratePeriod: 1e9, waitLimit: 1e9 });
}

/** Every download is read from its store. */
export function noSmallFiles(): SmallFiles {
  return new SmallFiles({ bytes: 0, alone: true });
}
