import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** A file system in memory, for one test to fill. Null: this user may not mount one here. */
export function mountSmallDisk(t: Test, megabytes: number) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  t.teardown(() => {
    if (status === 0) spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  if (status !== 0) return null;
  const ballast = join(folder, 'ballast');
  return {
    folder,
    /** Fills it until so many bytes are left. */
    fill(left: number): void {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - left));
    },
    /** Makes room again. */
    empty: () => truncateSync(ballast, 0),
  };
}
