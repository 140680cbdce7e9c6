import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const clients = join(import.meta.dirname, '../clients');
const cache = join(import.meta.dirname, '../../node_modules/.cache');

/** Compiles a program of test/clients/go. @returns its path; null where there is no Go */
export async function buildGo(name: string): Promise<string | null> {
  if (!(await isThere('go', 'version'))) return null;
  const program = join(cache, 'clients-go', name);
  await run('go', ['build', '-o', program, `./${name}`], { cwd: join(clients, 'go') });
  return program;
}

/** Compiles a program of test/clients/rust. @returns its path; null where there is no Rust */
export async function buildRust(name: string): Promise<string | null> {
  if (!(await isThere('cargo', '--version'))) return null;
  const target = join(cache, 'clients-rust');
  const args = ['build', '--quiet', '--locked', '--bin', name, '--target-dir', target];
  await run('cargo', args, { cwd: join(clients, 'rust') });
  return join(target, 'debug', name);
}

async function isThere(command: string, version: string): Promise<boolean> {
  try {
    await run(command, [version]);
    return true;
  } catch {
    return false;
  }
}
