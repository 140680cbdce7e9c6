import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Set<string>();

// on Ctrl-C as well
process.once('exit', () => {
  for (const directory of made) removeTemporaryDirectory(directory);
});

/** An empty directory that is removed at the latest when this process ends. */
export function makeTemporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  made.add(directory);
  return directory;
}

export function removeTemporaryDirectory(directory: string): void {
  made.delete(directory);
  // a process that was just killed may still be writing
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}
