import { DownloadSlots } from '../../gateway/download/download-slots.ts';

/** Downloads that never wait. */
export function plentyOfSlots(): DownloadSlots {
  return new DownloadSlots({ limit: 1000, minRate: 0, ratePeriod: 1e9, waitLimit: 1e9 });
}
