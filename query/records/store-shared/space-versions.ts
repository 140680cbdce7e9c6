import type { EndWrite } from '../store/statement-writes.ts';

/**
 * The version of a record space's data, for processes that share a store: a random text, which changes with every
 * write (docs/decisions/012-space-versions.md and 026-cache-between-processes.md).
 *
 *   reader: read(id); queries; keeps the result under the version. It is good for every read that finds the same version later
 *   writer: end = await begin(id); the write is durable and can be seen; await end(); only then is it acknowledged
 */
export interface SpaceVersions {
  /** Null: unknown at the moment, so the cache may neither be filled nor used. Never rejects. */
  read(spaceId: string): Promise<string | null>;
  /**
   * To be called before a write can be seen: while it is under way the space has no version. Rejects with 503 when
   * other processes can't be reached; then nothing may be written. Resolves with a function, to be called when the write
   * can be seen or its outcome is unknown. That function resolves when no process can use an older version, and never rejects.
   */
  begin(spaceId: string): Promise<EndWrite>;
}

/** Milliseconds after which a version expires. */
export const versionLifetime = 2000;

/** For a process with an exclusive store, or where nothing is cached. */
export const noVersions: SpaceVersions = { read: async () => null, begin: async () => async () => {} };
