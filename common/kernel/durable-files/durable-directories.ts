import { mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes created, renamed or removed names in a directory survive a power cut: fsync(2). */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    // nothing depends on the close, and awaiting it takes a turn of the event loop
    directory.close().catch(() => {});
  }
}

/** Makes a directory and its missing parents, so that they survive a power cut. @param path absolute */
export async function makeDurably(path: string, mode?: number): Promise<void> {
  if (await isMade(path, mode)) return;
  // not mkdir's own `recursive`: it loops forever if a parent can't be made, as below /proc
  const parent = dirname(path);
  await makeDurably(parent, mode);
  if (!(await isMade(path, mode)))
    throw Object.assign(new Error(`${path} can't be made`), { code: 'ENOENT' });
}

/** Makes a directory if it doesn't exist. Answers false when its parent is missing. */
async function isMade(path: string, mode: number | undefined): Promise<boolean> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) return false;
    if ((await stat(path).catch(() => null))?.isDirectory()) return true;
    throw error;
  }
  await syncDirectory(dirname(path));
  return true;
}

/** Beyond this many, the known directories are forgotten; each costs another fsync then. */
const knownLimit = 10_000;

/** Makes directories below a root so that they survive a power cut. */
export class DurableDirectories {
  readonly #root: string;
  readonly #known = new Map<string, Promise<void>>();

  private constructor(root: string) {
    this.#root = root;
  }

  /** Makes the root itself if it is missing. @param root absolute path */
  static async open(root: string): Promise<DurableDirectories> {
    await makeDurably(root);
    return new DurableDirectories(root);
  }

  /** Makes the directory and its parents, once; concurrent callers wait for the same fsync. */
  make(path: string): Promise<void> {
    if (path === this.#root) return Promise.resolve();
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    if (this.#known.size >= knownLimit) this.#known.clear();
    const made = this.#make(path);
    this.#known.set(path, made);
    made.catch(() => this.forget(path));
    return made;
  }

  /** The directory or a parent may have been removed: check again next time. */
  forget(path: string): void {
    for (let lost = path; lost.length > this.#root.length; lost = dirname(lost)) this.#known.delete(lost);
  }

  async #make(path: string): Promise<void> {
    const parent = dirname(path);
    await this.make(parent);
    try {
      await mkdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    // even if it existed: another process may have made it a moment ago, and not called fsync yet
    await syncDirectory(parent);
  }
}
