import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const version = '1.1.0';
const folder = join(import.meta.dirname, `../../node_modules/.cache/tuspy-${version}`);

/** A folder for PYTHONPATH, filled by pip the first time. Null where there is no Python 3 with pip. */
export async function installTuspy(): Promise<string | null> {
  if (await stat(join(folder, `tuspy-${version}.dist-info`)).catch(() => null)) return folder;
  try {
    await run('python3', ['-m', 'pip', '--version']);
  } catch {
    return null;
  }
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, `tuspy==${version}`]);
  return folder;
}
