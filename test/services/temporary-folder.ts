import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** An empty folder, removed at the end of the test. */
export async function temporaryFolder(t: Pick<Test, 'teardown'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
