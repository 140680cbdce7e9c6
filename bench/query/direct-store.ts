import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { type FieldInput, structureOf as structureText } from '../../test/services/record-client.ts';
import { type Child, repositoryRoot, startScript } from '../upload/harness/child-process.ts';
import { startEnvironment } from '../upload/harness/start-environment.ts';

export const benchToken = 'benchmark-token-0123456789';
export const authorization = `Bearer ${benchToken}`;

/** A service on its own folder, started like `npm start`. */
export function startService(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  { root = repositoryRoot, script = 'main.ts', preload = [] as readonly string[] } = {},
): Promise<Child> {
  return startScript(script, {
    root,
    preload,
    ipc: preload.length > 0,
    env: {
      ...startEnvironment(),
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      BOOTSTRAP_TOKEN: benchToken,
      LOG_LEVEL: 'error',
      ...env,
    },
    ready: /^Sluice listens on (\S+)$/m,
  });
}

/** Direct work on the tables of a stopped service, for rows that requests would take too long to write. */
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

/** The structure of a space of a project. */
export function structureOf(
  slug: string,
  fields: readonly FieldInput[],
  project = 'bench',
  more: object = {},
): string {
  return structureText(project, slug, fields, { description: '', ...more });
}

const text: FieldInput = { name: 'text', type: 'TEXT' };

/** A structure with one TEXT field. */
export function textStructure(slug: string, project = 'bench'): string {
  return structureOf(slug, [text], project);
}

/** A structure with a TEXT field and a hashed field. */
export function passwordStructure(slug: string, project = 'bench'): string {
  const password = { name: 'password', type: 'TEXT', hashed: true };
  return structureOf(slug, [{ ...text, unique: true }, password], project);
}

/** A structure with a TEXT field and a webhook for inserts. */
export function webhookStructure(slug: string, onInsertUrl: string, project = 'bench'): string {
  return structureOf(slug, [text], project, { webhooks: { onInsertUrl } });
}

export async function insertOne(
  url: string,
  slug: string,
  args: { project?: string; token?: string; structure?: string; values?: object } = {},
): Promise<void> {
  const { project = 'bench', token = benchToken, values = { text: 'first' } } = args;
  const { structure = textStructure(slug, project) } = args;
  const answer = await fetch(`${url}/${project}/${slug}/_single_`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, structure, 'content-type': 'application/json' },
    body: JSON.stringify(values),
  });
  const said = await answer.text();
  if (answer.status !== 200) throw new Error(`inserting into ${slug}: ${answer.status} ${said}`);
}
