import { randomUUID } from 'node:crypto';
import type { Database } from '../clickhouse/database.ts';
import { rowLine, timestampText } from './row-values.ts';

/** All processes that share a store. Several deployments may keep their files in one bucket. */
export interface Deployment {
  /** UUID: begins the key of every object that this process makes. */
  readonly id: string;
  /** Every id that objects of this deployment may begin with: processes that start on an empty store at once make one each. */
  ids(): Promise<readonly string[]>;
}

/** Reads the id of the deployment from the store, or makes it. */
export async function openDeployment(args: { db: Database; database: string }): Promise<Deployment> {
  const { db, database } = args;
  const table = `${database}.deployments`;
  const ids = async (): Promise<readonly string[]> => {
    const rows = await db.rows<{ id: string }>(`SELECT id FROM ${table} ORDER BY created_at, id`);
    return rows.map(({ id }) => id);
  };
  const known = (await ids())[0];
  if (known !== undefined) return { id: known, ids };
  await db.insert(table, ['id', 'created_at'], rowLine([randomUUID(), timestampText(new Date())]));
  const made = (await ids())[0];
  if (made === undefined) throw new Error('the deployment id that was just made is not there');
  return { id: made, ids };
}
