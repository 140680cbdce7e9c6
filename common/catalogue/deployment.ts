import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';

/**
 * The identity of a deployment, which is all processes that share a store. The first process creates it, and the store
 * keeps it. Several deployments may share a bucket.
 */
export interface Deployment {
  /** UUID: begins the key of every object. */
  readonly id: string;
  /** 256 random bits for checksums of access tokens. Never logged or sent. */
  readonly secret: string;
}

/** Reads the identity of the deployment from the store, or creates it. */
export async function openDeployment(args: { db: Database; database: string }): Promise<Deployment> {
  const { db, database } = args;
  const table = `${database}.deployments`;
  const read = async (): Promise<Deployment | undefined> =>
    (await db.rows<Deployment>({ sql: `SELECT id, secret FROM ${table} ORDER BY created_at, id` }))[0];
  const known = await read();
  if (known !== undefined) return known;
  const secret = randomBytes(32).toString('base64url');
  const lines = rowLine([randomUUID(), secret, timestampText(new Date())]);
  // several processes may start on an empty store at once: the first row counts
  await db.insert({ table, columns: ['id', 'secret', 'created_at'], lines, token: 'deployment' });
  const made = await read();
  if (made === undefined) throw new Error('the identity of the deployment was just written, and is missing');
  return made;
}
