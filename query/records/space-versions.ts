/**
 * The version of what a record space holds, for whoever keeps results: a random text, and another one after every
 * write (docs/decisions/012-space-versions.md).
 *
 *   reader: read(id); queries; keeps the result under the version. It is good for whoever reads that version later
 *   writer: the write is durable and can be seen; change(id); only then is it acknowledged
 */
export interface SpaceVersions {
  /** Null: not known at the moment, so nothing may be kept and nothing that was kept be used. Never rejects. */
  read(spaceId: string): Promise<string | null>;
  /**
   * Resolves when nobody reads any more the version that was there when this was called, or one from before. Never
   * rejects; when others can't be told it takes as long as a version lasts.
   */
  change(spaceId: string): Promise<void>;
}

/** Milliseconds after which a version ends by itself: what a write of unknown outcome left is then seen at the latest. */
export const versionLifetime = 2000;

/** For a process that shares its store with none, or that can't tell the others. */
export const noVersions: SpaceVersions = { read: async () => null, change: async () => {} };
