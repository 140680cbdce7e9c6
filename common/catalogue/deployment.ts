import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';

/**
 * The identity of a deployment, all processes that share a store: the first one makes it, the store keeps it. Several
 * deployments may keep their files in one bucket.
 */
export interface Deployment {
  /** UUID: begins the key of every object. */
  readonly id: string;
  /** 256 random bits: for checksums of access tokens, never logged and never answered. */
  readonly secret: string;
}

/** Reads the key of the deployment from the store, or makes it. */
export async function openDeployment(args: { db: Database; database: string }): Promise<Deployment> {
  const { db, database } = args;
  const table = `${database}.deployments`;
  const read = async (): Promise<Deployment | undefined> =>
    (await db.rows<Deployment>({ sql: `SELECT id, secret FROM ${table} ORDER BY created_at, id` }))[0];
  const known = await read();
  if (known !== undefined) return known;
  const secret = randomBytes(32).toString('base64url');
  const lines = rowLine([randomUUID(), secret, timestampText(new Date())]);
  // processes may start on an empty store at once: the first row counts
  await db.insert({ table, columns: ['id', 'secret', 'created_at'], lines, token: 'deployment' });
  const made = await read();
  if (made === undefined) throw new Error('the key of the deployment that was just made is not there');
  return made;
}
