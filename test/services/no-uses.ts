import type { UsedFiles } from '#gateway/access/used-files.ts';

/** For files that no record names. */
export const noUses: Pick<UsedFiles, 'hold'> = {
  hold: async () => ({ inUse: new Set(), release: async () => {}, deleted() {} }),
};
