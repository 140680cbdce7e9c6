import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Makes a folder for the temporary files of this process, and removes what processes that died have left.
 * @param parent of the folders of all processes
 */
export async function makeOwnFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const own = String(process.pid);
  for (const name of await readdir(parent))
    if (name === own || !isAlive(Number(name)))
      await rm(join(parent, name), { recursive: true, force: true });
  const folder = join(parent, own);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: somebody else's
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
