import type { LargeUpload } from './upload.ts';

declare const localStorage: NonNullable<LargeUpload['storage']>;

/**
 * Stores, removes or reads the address of an unfinished upload, and returns it.
 * @param address to store; null: removes it; undefined: reads it
 */
export function keepAddress({ storageKey, storage }: LargeUpload, address?: string | null): string | null {
  try {
    const store = storage ?? localStorage;
    if (!storageKey) return address ?? null;
    if (address === undefined) return store.getItem(storageKey);
    if (address === null) store.removeItem(storageKey);
    else store.setItem(storageKey, address);
  } catch {
    // the storage is missing, full or forbidden: uploads resume after a cut, but not after a reload
  }
  return address ?? null;
}
