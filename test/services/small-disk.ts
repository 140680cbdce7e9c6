import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** A file system of its own, which a test can fill. */
export interface SmallDisk {
  readonly folder: string;
  /** Fills it until so many bytes are left. */
  fill(left: number): void;
  /** Makes room again. */
  empty(): void;
}

/** In memory, for one test. Null: this user may not mount one here. */
export function mountSmallDisk(t: Test, megabytes: number): SmallDisk | null {
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
    fill(left) {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - left));
    },
    empty: () => truncateSync(ballast, 0),
  };
}
