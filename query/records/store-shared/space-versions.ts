import type { EndWrite } from '../store/statement-writes.ts';

/**
 * The version of a record space's data, for a cache that processes share: a random text, and another one after every
 * write (docs/decisions/012-space-versions.md and 026-cache-between-processes.md).
 *
 *   reader: read(id); queries; keeps the result under the version. It is good for every read that finds the same version later
 *   writer: end = await begin(id); the write is durable and can be seen; await end(); only then is it acknowledged
 */
export interface SpaceVersions {
  /** Null: not known at the moment, so nothing may be kept and nothing that was kept be used. Never rejects. */
  read(spaceId: string): Promise<string | null>;
  /**
   * To be called before a write can be seen: while it is under way the space has no version. Rejects with 503 when
   * other processes can't be reached; then nothing may be written. Resolves with a function, to be called when the write
   * can be seen or its outcome is unknown. That one resolves when nobody can go by an older version, and never rejects.
   */
  begin(spaceId: string): Promise<EndWrite>;
}

/** Milliseconds after which a version ends by itself. */
export const versionLifetime = 2000;

/** For a process that shares its store with none, or where nothing is kept. */
export const noVersions: SpaceVersions = { read: async () => null, begin: async () => async () => {} };
