import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { insertOne, onTables, passwordStructure, startService } from '../query/direct-store.ts';
import type { Child } from '../upload/harness/child-process.ts';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { hostileCases, type Prepared } from './cases.ts';

/** What the attackers and the client that does no harm have to know. */
export interface Stage extends Prepared {
  /** By hostile case. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly politeToken: string;
}

const run = promisify(execFile);

/** An account with a token, made by the command while the service runs. */
async function newAccount(folder: string, name: string): Promise<string> {
  const args = ['--import', 'tsx', 'token.ts', '--user', `${name}@hostile.example`, '--create-user'];
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: join(folder, 'data') };
  const { stdout } = await run(process.execPath, args, { cwd: repositoryRoot, env });
  return stdout.trim();
}

/** Accounts and their spaces; a file that can be read slowly. @param only cases to prepare for */
async function prepareAccounts(service: Child, folder: string, only: readonly string[]): Promise<Stage> {
  const tokens: Record<string, string> = {};
  for (const name of only) {
    const token = await newAccount(folder, name);
    tokens[name] = token;
    for (const slug of ['rows', 'large']) await insertOne(service.ready, slug, { project: 'hostile', token });
    if (name !== 'passwordGuesses') continue;
    const structure = passwordStructure('users', 'hostile');
    const values = { text: 'ada', password: 'correct horse' };
    await insertOne(service.ready, 'users', { project: 'hostile', token, structure, values });
  }
  const politeToken = await newAccount(folder, 'polite');
  const body = new FormData();
  body.set('file', new File([Buffer.alloc(20_000_000, 1)], 'large.bin'));
  const [uploader = politeToken] = Object.values(tokens);
  const headers = { authorization: `Bearer ${uploader}` };
  const answer = await fetch(`${service.ready}/_f_/hostile/upload`, { method: 'POST', headers, body });
  const { name } = (await answer.json()) as { name: string };
  return { tokens, politeToken, file: `/_f_/hostile/${name}` };
}

/** Fills a store, and answers what is in it. The service that did so is stopped. */
export async function prepareStage(folder: string, only: readonly string[], rows: number): Promise<Stage> {
  const service = await startService(folder);
  const stage = await prepareAccounts(service, folder, only);
  await service.stop();
  await onTables(folder, async (db) => {
    const fill = (slug: string, records: number, bytes: number, owners: string): Promise<void> =>
      db.command({
        sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, t0, _doc)
          SELECT space, concat('1', leftPad(toString(number), 12, '0')), now64(3), now64(3),
            randomPrintableASCII(${bytes}) AS text, map('t0', text)
          FROM (SELECT toUUID(toString(id)) AS space FROM sluice.record_spaces FINAL
            WHERE slug = '${slug}' AND owner_id IN (SELECT id FROM sluice.users FINAL WHERE ${owners})) AS spaces
          CROSS JOIN numbers(${records}) AS n`,
      });
    const readers = `email IN ('slowReaders@hostile.example', 'fullScans@hostile.example')`;
    await fill('rows', rows, 100, readers);
    await fill('large', 100, 1_000_000, `email = 'slowReaders@hostile.example'`);
  });
  return stage;
}

export const caseNames = Object.keys(hostileCases({ file: '' }));
