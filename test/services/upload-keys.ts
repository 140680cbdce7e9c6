import { ownLocks } from '#coordination/redis/process-lock.ts';
import { UploadKeys } from '#gateway/access/upload-keys.ts';

/** For uploads without an `Idempotency-Key`. */
export const noUploadKeys = new UploadKeys({
  cloudFiles: { findByPrefixes: async () => [] },
  locks: ownLocks(),
});
