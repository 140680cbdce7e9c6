import { randomBytes } from 'node:crypto';
import type { Mix, MixField, MixSpace } from '../../mix/mix.ts';
import { indexesOf } from '../records/indexes-of.ts';
import { JsonCalls } from '../records/json-calls.ts';
import { batchRecords, storeRecords } from '../records/store-records.ts';
import type { Preparation } from '../target.ts';
import { basePath, collectionOf, collectionPrefix, idOf } from './pocketbase-records.ts';

interface Collection {
  readonly name: string;
  readonly type: 'base' | 'auth';
  readonly fields?: readonly object[];
  readonly indexes?: readonly string[];
}

export const filesCollection = `${collectionPrefix}files`;
const usersCollection = `${collectionPrefix}users`;
/** Seconds. */
const batchTimeout = 60;
/** Largest file. */
const fileBytes = 5 * 1024 ** 3;
/** Characters; a text of PocketBase has 5,000 by default. */
const textLength = 10_000_000;
const types = { TEXT: 'text', NUMBER: 'number', BOOLEAN: 'bool', DATETIME: 'date' } as const;
/** What an application would have: only users who logged in. */
const isUser = '@request.auth.id != ""';
const rules = {
  listRule: isUser,
  viewRule: isUser,
  createRule: isUser,
  updateRule: isUser,
  deleteRule: isUser,
};

/**
 * Makes the collections of a mix anew, with a user who may use them, and stores their records.
 * @returns the user's token
 */
export async function prepareCollections(work: Preparation): Promise<string> {
  const { mix } = work;
  return await asSuperuser(work, async (calls, base) => {
    await remove(calls, base, mix);
    await allowBatches(calls, base);
    const token = await makeUser(calls, base);
    if (mix.requests.some(({ kind }) => kind === 'upload' || kind === 'download')) {
      const file = { name: 'file', type: 'file', maxSelect: 1, maxSize: fileBytes };
      await make(calls, base, { name: filesCollection, type: 'base', ...rules, fields: [file] });
    }
    for (const space of mix.spaces) {
      const name = collectionOf(space.name);
      await make(calls, base, {
        name,
        type: 'base',
        ...rules,
        fields: space.fields.map(fieldOf),
        indexes: indexes(mix, space),
      });
      const url = `/api/collections/${name}/records`;
      await storeRecords(work, mix, space, async (records, first) => {
        const requests = records.map((record, at) => ({
          method: 'POST',
          url,
          body: { id: idOf(first + at), ...record },
        }));
        await calls.must('a batch of records is stored', 'POST', `${base}/api/batch`, { requests });
      });
    }
    return token;
  });
}

/** Removes the collections of a mix, and the user. */
export async function removeCollections(work: Preparation): Promise<void> {
  await asSuperuser(work, (calls, base) => remove(calls, base, work.mix));
}

/** Runs requests with the rights of the superuser. */
export async function asSuperuser<Value>(
  work: Preparation,
  run: (calls: JsonCalls, base: string) => Promise<Value>,
): Promise<Value> {
  const { credential } = work.address;
  const at = credential?.indexOf(':') ?? -1;
  if (credential === null || at < 0)
    throw new Error('the target needs --token email:password of a superuser');
  const base = basePath(work.address);
  const calls = new JsonCalls(work);
  try {
    const login = { identity: credential.slice(0, at), password: credential.slice(at + 1) };
    const path = `${base}/api/collections/_superusers/auth-with-password`;
    const { token } = await calls.must<{ token: string }>('the superuser logs in', 'POST', path, login);
    calls.fields = `Authorization: ${token}\r\n`;
    return await run(calls, base);
  } finally {
    calls.close();
  }
}

async function remove(calls: JsonCalls, base: string, { spaces }: Mix): Promise<void> {
  for (const name of [...spaces.map((space) => collectionOf(space.name)), filesCollection, usersCollection]) {
    const { status } = await calls.send('DELETE', `${base}/api/collections/${name}`);
    if (status >= 300 && status !== 404)
      throw new Error(`the collection ${name} is not removed: the server answered ${status}`);
  }
}

/** They are off by default, and small. */
async function allowBatches(calls: JsonCalls, base: string): Promise<void> {
  const batch = { enabled: true, maxRequests: batchRecords, timeout: batchTimeout };
  await calls.must('batches are switched on', 'PATCH', `${base}/api/settings`, { batch });
}

async function makeUser(calls: JsonCalls, base: string): Promise<string> {
  const user = { identity: 'load@example.com', password: randomBytes(16).toString('hex') };
  await make(calls, base, { name: usersCollection, type: 'auth' });
  await calls.must('a user is made', 'POST', `${base}/api/collections/${usersCollection}/records`, {
    email: user.identity,
    password: user.password,
    passwordConfirm: user.password,
  });
  const path = `${base}/api/collections/${usersCollection}/auth-with-password`;
  return (await calls.must<{ token: string }>('the user logs in', 'POST', path, user)).token;
}

async function make(calls: JsonCalls, base: string, collection: Collection): Promise<void> {
  await calls.must(
    `the collection ${collection.name} is made`,
    'POST',
    `${base}/api/collections`,
    collection,
  );
}

function fieldOf({ name, type }: MixField): object {
  return { name, type: types[type], ...(type === 'TEXT' ? { max: textLength } : {}) };
}

function indexes(mix: Mix, space: MixSpace): string[] {
  const collection = collectionOf(space.name);
  const unique = space.fields
    .filter((field) => field.unique)
    .map(({ name }) => `CREATE UNIQUE INDEX \`${collection}_${name}\` ON \`${collection}\` (\`${name}\`)`);
  const others = indexesOf(mix, space).map((columns) => {
    const list = columns.map((column) => `\`${column}\``).join(', ');
    return `CREATE INDEX \`${collection}_${columns.join('_')}\` ON \`${collection}\` (${list})`;
  });
  return [...unique, ...others];
}
