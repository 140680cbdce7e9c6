import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = join(import.meta.dirname, '../../node_modules/.cache');

/**
 * The path of a program, compiled by Go the first time, which takes minutes. Null where there is no Go.
 * @param pkg with its version: `github.com/tsenart/vegeta/v12@v12.13.0`
 */
export async function installGo(program: string, pkg: string): Promise<string | null> {
  const folder = join(cache, `${program}-${pkg.slice(pkg.indexOf('@') + 1)}`);
  const path = join(folder, program);
  if (await stat(path).catch(() => null)) return path;
  try {
    await run('go', ['install', pkg], { env: { ...process.env, GOBIN: folder } });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return path;
}
