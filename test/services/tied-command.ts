import { spawnSync } from 'node:child_process';

/** A command that, where the system can, ends with this process, even when that is killed. */
export function tiedCommand(command: readonly string[]): [program: string, args: string[]] {
  const tied = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  const [program, ...args] = tied ? ['setpriv', '--pdeathsig', 'KILL', ...command] : command;
  return [program as string, args];
}
