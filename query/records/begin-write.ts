import type { RecordEffect, ResultCache } from './result-cache.ts';

/**
 * To be called before a write can be seen, so that nothing that was kept of results contradicts it. Rejects with 503
 * when other processes can't be told; then nothing may be written. What it answers is to be called when the write can be
 * seen, or nobody knows; that resolves when the write may be acknowledged, and never rejects.
 * @param effects null: they are not known, or many
 */
export type BeginWrite = (spaceId: string, effects: readonly RecordEffect[] | null) => Promise<EndWrite>;

export type EndWrite = () => Promise<void>;

/** The same where there are no other processes to tell. */
export type BeginWriteAlone = (...write: Parameters<BeginWrite>) => EndWrite;

export function beginWriteAlone(cache: ResultCache): BeginWriteAlone {
  return (spaceId, effects) => {
    const end = cache.begin(spaceId, effects);
    return async () => end();
  };
}
