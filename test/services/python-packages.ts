import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
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
  const args = ['-m', 'pip', 'install', '--quiet', '--upgrade', '--target', folder, ...packages];
  await run('python3', args);
  await run('touch', [whole]);
  return folder;
}
