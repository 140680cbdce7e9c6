import { readdir, readFile } from 'node:fs/promises';
import { setPriority } from 'node:os';

/** The engine's names for threads of pools that compute; `ThreadPool` is one that waits for work. */
const computing = /^(ThreadPool|Query|MergeMutate|MergeTree|Formatter)/;
/** Where both want a core, a thread with this nice value gets a ninth of the time of one with 0. */
const niceness = 10;
const lookEvery = 1000;
const threads = '/proc/self/task';

/**
 * Makes the embedded engine give way to the event loop: threads on which it computes get a lower priority, as it starts
 * them. Linux keeps a priority for each thread, and lets any process lower its own
 * (https://man7.org/linux/man-pages/man2/setpriority.2.html). Elsewhere nothing happens. @returns what ends the looks
 */
export function lowerEngineThreads(): () => void {
  let seen = new Set<string>();
  const look = async (): Promise<void> => {
    const running = await readdir(threads);
    for (const id of running) {
      if (seen.has(id)) continue;
      const name = await readFile(`${threads}/${id}/comm`, 'utf8');
      if (computing.test(name)) setPriority(Number(id), niceness);
    }
    seen = new Set(running);
  };
  // a thread may end meanwhile, which leaves the others to the next look; other systems have no such folder
  const timer = setInterval(() => void look().catch(() => {}), lookEvery).unref();
  return () => clearInterval(timer);
}
