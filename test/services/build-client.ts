import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Builds the client for pages, as servers of this checkout serve it. */
export async function buildClient(): Promise<{ readonly folder: string; readonly version: string }> {
  const client = join(root, 'client');
  const { NODE_OPTIONS: _runner, ...env } = process.env;
  await run(process.execPath, ['--import', 'tsx', join(client, 'build.ts')], { cwd: root, env });
  const { version } = JSON.parse(await readFile(join(client, 'package.json'), 'utf8')) as { version: string };
  return { folder: join(client, 'dist'), version };
}
