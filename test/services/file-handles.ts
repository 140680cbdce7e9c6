import { readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Test } from 'tap';

/** The methods of all file handles, for a test to wrap; they are put back when it ends. */
export async function fileHandleMethods(t: Test): Promise<Pick<FileHandle, 'sync' | 'write' | 'writev'>> {
  const probe = await open('/dev/null');
  const prototype = Object.getPrototypeOf(probe) as Pick<FileHandle, 'sync' | 'write' | 'writev'>;
  await probe.close();
  const { sync, write, writev } = prototype;
  t.teardown(() => Object.assign(prototype, { sync, write, writev }));
  return prototype;
}

/** Everything that is synced from now on, in order. @param note what is kept of it, by its path at that moment */
export async function notedSyncs<Note>(t: Test, note: (path: string) => Note): Promise<Note[]> {
  const methods = await fileHandleMethods(t);
  const { sync } = methods;
  const notes: Note[] = [];
  methods.sync = function noted(this: FileHandle) {
    notes.push(note(readlinkSync(`/proc/self/fd/${this.fd}`)));
    return sync.call(this);
  };
  return notes;
}

/** Holds every write of a file handle until it is called. */
export async function heldWrites(t: Test): Promise<() => void> {
  const methods = await fileHandleMethods(t);
  const { write } = methods;
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  methods.write = async function late(this: FileHandle, ...args: unknown[]) {
    await held;
    return (write as (...args: unknown[]) => unknown).apply(this, args);
  } as unknown as FileHandle['write'];
  return release;
}
