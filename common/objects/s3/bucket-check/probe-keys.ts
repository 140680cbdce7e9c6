import { randomUUID } from 'node:crypto';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { checkKey } from '../../file-key.ts';
import type { ObjectStore } from '../../object-store.ts';

/** The deadline for removing everything. Milliseconds. */
const patience = 30_000;

/** Keys of what a check stores, which are removed in the end. They are ones that the janitor knows. */
export class ProbeKeys {
  readonly #deploymentId: string;
  readonly #keys: string[] = [];
  readonly #uploads: { readonly key: string; readonly id: string }[] = [];

  constructor(deploymentId: string) {
    this.#deploymentId = deploymentId;
  }

  /** A new key, to be used after this. */
  next(): string {
    const key = checkKey(this.#deploymentId, randomUUID());
    this.#keys.push(key);
    return key;
  }

  begun(key: string, id: string): void {
    this.#uploads.push({ key, id });
  }

  /** Removes the objects and uploads of all keys. @returns the keys for which that failed */
  async remove(store: Pick<ObjectStore, 'abortUpload' | 'delete'>): Promise<readonly string[]> {
    const since = new Date(0);
    const left: string[] = [];
    const attempt = (key: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> =>
      withDeadline(undefined, patience, ({ signal }) => work(signal)).catch(() => void left.push(key));
    for (const { key, id } of this.#uploads.splice(0))
      await attempt(key, (signal) => store.abortUpload({ key, id, since }, signal));
    for (const key of this.#keys.splice(0)) await attempt(key, (signal) => store.delete(key, signal));
    return left;
  }
}
