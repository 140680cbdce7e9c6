import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '../clickhouse/database.ts';
import { rowLine, timestampText } from './row-values.ts';

/** The identity of a deployment: its first process makes it, the store keeps it. */
export interface DeploymentKey {
  /** UUID: begins the key of every object. */
  readonly id: string;
  /** 256 random bits: for checksums of access tokens, never logged and never answered. */
  readonly secret: string;
}

/** All processes that share a store. Several deployments may keep their files in one bucket. */
export interface Deployment extends DeploymentKey {
  /** All keys that count: processes that start on an empty store at once make one each. */
  keys(): Promise<readonly DeploymentKey[]>;
}

/** Reads the key of the deployment from the store, or makes it. */
export async function openDeployment(args: { db: Database; database: string }): Promise<Deployment> {
  const { db, database } = args;
  const table = `${database}.deployments`;
  const keys = (): Promise<DeploymentKey[]> =>
    db.rows<DeploymentKey>({ sql: `SELECT id, secret FROM ${table} ORDER BY created_at, id` });
  const known = (await keys())[0];
  if (known !== undefined) return { ...known, keys };
  const secret = randomBytes(32).toString('base64url');
  const row = rowLine([randomUUID(), secret, timestampText(new Date())]);
  await db.insert({ table, columns: ['id', 'secret', 'created_at'], lines: row });
  const made = (await keys())[0];
  if (made === undefined) throw new Error('the key of the deployment that was just made is not there');
  return { ...made, keys };
}
