import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { type Child, repositoryRoot, startChild } from '../upload/harness/child-process.ts';

export const benchToken = 'benchmark-token-0123456789';
export const authorization = `Bearer ${benchToken}`;

/** `npm start` on a folder of its own. */
export function startService(folder: string, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  return startChild({
    command: 'sh',
    args: ['-c', `cd "${repositoryRoot}" && exec "${process.execPath}" --import tsx main.ts`],
    env: {
      UV_THREADPOOL_SIZE: '16',
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      BOOTSTRAP_TOKEN: benchToken,
      LOG_LEVEL: 'error',
      ...env,
    },
    ready: /^Sluice listens on (\S+)$/m,
  });
}

/** Work on the tables of a service that is stopped: rows that requests would take long to make. */
export async function onTables(folder: string, work: (db: Database) => Promise<void>): Promise<void> {
  const db = openChdb({ path: join(folder, 'data', 'chdb') });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

export async function countFiles(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).length;
}

/** One field of TEXT. */
export function textStructure(slug: string): string {
  return JSON.stringify({
    name: slug,
    description: '',
    projectSlug: 'bench',
    slug,
    recordStructure: [
      {
        ...{ name: 'text', slug: 'text', type: 'TEXT', required: false, unique: false, hashed: false },
        ...{ description: '', comment: '' },
      },
    ],
  });
}

export async function insertOne(url: string, slug: string): Promise<void> {
  const answer = await fetch(`${url}/bench/${slug}/_single_`, {
    method: 'POST',
    headers: { authorization, structure: textStructure(slug), 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'first' }),
  });
  if (answer.status !== 200)
    throw new Error(`inserting into ${slug}: ${answer.status} ${await answer.text()}`);
}
