import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

// "1: FLOCK  ADVISORY  WRITE 4242 fe:00:1234567 0 EOF": process id, then device and inode
const lockLine = /\bWRITE +(\d+) +[0-9a-f]+:[0-9a-f]+:(\d+)\b/;

/**
 * Whether another process has the engine's directory open, according to Linux (/proc/locks, see proc_locks(5)). The engine
 * would notice by itself, but writes a long error to standard error.
 */
export function isDirectoryLocked(path: string): boolean {
  let inode: number;
  let locks: string;
  try {
    inode = statSync(join(path, 'status')).ino;
    locks = readFileSync('/proc/locks', 'utf8');
  } catch {
    // there is no such directory yet, or no such list on this system: opening the directory will show it
    return false;
  }
  return locks.split('\n').some((line) => {
    const match = lockLine.exec(line);
    return match !== null && Number(match[2]) === inode && Number(match[1]) !== process.pid;
  });
}
