import { UploadKeys } from '../../gateway/upload-keys.ts';
import { silentLog } from './silent-log.ts';

/** For uploads without an `Idempotency-Key`. */
export const noUploadKeys = new UploadKeys({
  cloudFiles: { findByPrefixes: async () => [] },
  redis: undefined,
  log: silentLog(),
});
