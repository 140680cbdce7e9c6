import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { argsOf } from '../harness/child-process.ts';

const run = promisify(execFile);

/** The access token of a new account, created by the command while the service runs. @param root the checkout */
export async function newAccount(place: { dataDir: string; root: string }, email: string): Promise<string> {
  const args = [...argsOf('cli/token.ts', place.root), '--user', email, '--create-user'];
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: place.dataDir };
  const { stdout } = await run(process.execPath, args, { cwd: place.root, env });
  return stdout.trim();
}
