import { join } from 'node:path';
import type { Database } from '#engine/database.ts';
import { insertOne, onTables, passwordStructure, startService } from '../query/direct-store.ts';
import type { Child } from '../upload/harness/child-process.ts';
import { newAccount as makeAccount } from '../upload/subject/new-account.ts';
import { type AttackFixture, hostileCases } from './cases.ts';
import { filterCases } from './filter-cases.ts';

/** What the attackers and the well-behaved client need. */
export interface Stage extends AttackFixture {
  /** By hostile case. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly politeToken: string;
}

interface BenchFolders {
  readonly folder: string;
  /** The checkout. */
  readonly root: string;
}

export function newAccount({ folder, root }: BenchFolders, name: string): Promise<string> {
  return makeAccount({ dataDir: join(folder, 'data'), root }, emailOf(name));
}

/** Creates accounts, their spaces, and a file for slow reads. @param only cases to prepare for */
async function prepareAccounts(service: Child, place: BenchFolders, only: readonly string[]): Promise<Stage> {
  const tokens: Record<string, string> = {};
  for (const name of only) {
    const token = await newAccount(place, name);
    tokens[name] = token;
    for (const slug of ['rows', 'large']) await insertOne(service.ready, slug, { project: 'hostile', token });
    if (name !== 'passwordGuesses') continue;
    const structure = passwordStructure('users', 'hostile');
    const values = { text: 'ada', password: 'correct horse' };
    await insertOne(service.ready, 'users', { project: 'hostile', token, structure, values });
  }
  const politeToken = await newAccount(place, 'polite');
  const body = new FormData();
  body.set('file', new File([Buffer.alloc(20_000_000, 1)], 'large.bin'));
  const [uploader = politeToken] = Object.values(tokens);
  const headers = { authorization: `Bearer ${uploader}` };
  const answer = await fetch(`${service.ready}/_f_/hostile/upload`, { method: 'POST', headers, body });
  const { name } = (await answer.json()) as { name: string };
  return { tokens, politeToken, file: `/_f_/hostile/${name}` };
}

interface SpaceContents {
  readonly account: string;
  readonly slug: string;
  readonly records: number;
  /** Bytes of each record. */
  readonly bytes: number;
}

/** Fills a space. Throws if it does not exist, because attacks on nothing would measure nothing. */
async function fill(db: Database, { account, slug, records, bytes }: SpaceContents): Promise<void> {
  const [space] = await db.rows<{ id: string }>({
    sql: `SELECT id FROM sluice.record_spaces FINAL WHERE slug = '${slug}' AND owner_id IN
      (SELECT id FROM sluice.users FINAL WHERE email = '${emailOf(account).toLowerCase()}')`,
  });
  if (space === undefined) throw new Error(`${account} has no space ${slug} to fill`);
  await db.command({
    sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, t0, _doc)
      SELECT toUUID('${space.id}'), concat('1', leftPad(toString(number), 12, '0')), now64(3), now64(3),
        randomPrintableASCII(${bytes}) AS text, map('t0', text)
      FROM numbers(${records})`,
  });
}

function emailOf(name: string): string {
  return `${name}@hostile.example`;
}

/** Fills a store, and returns its contents. Its service is stopped afterwards. */
export async function prepareStage({
  only,
  rows,
  ...place
}: BenchFolders & { readonly only: readonly string[]; readonly rows: number }): Promise<Stage> {
  const { folder, root } = place;
  const service = await startService(folder, {}, { root });
  const stage = await prepareAccounts(service, place, only);
  await service.stop();
  const filled: readonly SpaceContents[] = [
    { account: 'slowReaders', slug: 'rows', records: rows, bytes: 100 },
    ...['fullScans', 'unindexedFinds', 'fullSorts', 'mixed', ...Object.keys(filterCases)].map((account) => ({
      account,
      slug: 'rows',
      records: rows,
      bytes: 100,
    })),
    { account: 'slowReaders', slug: 'large', records: 100, bytes: 1_000_000 },
  ];
  await onTables(folder, async (db) => {
    for (const space of filled) if (only.includes(space.account)) await fill(db, space);
  });
  return stage;
}

export const caseNames = Object.keys(hostileCases({ file: '' }));
