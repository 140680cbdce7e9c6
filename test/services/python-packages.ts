import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = join(import.meta.dirname, '../../node_modules/.cache');

/**
 * A folder for PYTHONPATH, filled by pip the first time. Null where there is no Python 3 with pip.
 * @param packages with their versions: `tuspy==1.1.0`
 */
export async function installPython(packages: readonly string[]): Promise<string | null> {
  const folder = join(cache, packages.join('-').replaceAll('==', '-'));
  const whole = join(folder, '.whole');
  if (await stat(whole).catch(() => null)) return folder;
  try {
    await run('python3', ['-m', 'pip', '--version']);
  } catch {
    return null;
  }
  // several files may install the same ones at once
  const own = `${folder}-${randomUUID()}`;
  const args = ['-m', 'pip', 'install', '--quiet', '--upgrade', '--target', own, ...packages];
  await run('python3', args);
  await run('touch', [join(own, '.whole')]);
  await rename(own, folder).catch(async (error: unknown) => {
    await rm(own, { recursive: true, force: true });
    if (!(await stat(whole).catch(() => null))) throw error;
  });
  return folder;
}
