import { randomUUID } from 'node:crypto';
import type { Database, InsertStatement } from '#engine/database.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';

/** The newest row of something that has versions, and the request that stored it. */
export interface StoredVersion {
  readonly version: number;
  readonly writer: string;
}

/**
 * Stores a version of a row, of which the first writer counts. False: another request was first to store it.
 * @param args.key of the row @param args.insert the INSERT of a row that has this writer @param args.newest reads the row
 */
export async function storeVersion(args: {
  readonly db: Database;
  readonly key: string;
  readonly version: number;
  readonly insert: (writer: string) => Omit<InsertStatement, 'token'>;
  readonly newest: () => Promise<StoredVersion | null>;
}): Promise<boolean> {
  const { db, key, version, insert, newest } = args;
  // the first of two INSERTs with the same token counts, but only the newest tokens are remembered
  if (((await newest())?.version ?? -1) >= version) return false;
  const writer = randomUUID();
  let unknown: UnknownOutcome | null = null;
  await db.insert({ ...insert(writer), token: `${key}:${version}` }).catch((error: unknown) => {
    if (!(error instanceof UnknownOutcome)) throw error;
    unknown = error;
  });
  const after = await newest();
  if (unknown !== null && (after === null || after.version < version)) throw unknown;
  return after?.writer === writer;
}
