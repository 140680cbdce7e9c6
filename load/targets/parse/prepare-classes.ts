import { randomBytes } from 'node:crypto';
import type { Mix, MixSpace } from '../../mix/mix.ts';
import { indexesOf } from '../records/indexes-of.ts';
import { JsonCalls } from '../records/json-calls.ts';
import { type RecordIds, RecordIdsWriter } from '../records/record-ids.ts';
import { storeRecords } from '../records/store-records.ts';
import type { Preparation, TargetAddress } from '../target.ts';
import { classOf, parseValues } from './parse-records.ts';

export interface PreparedClasses {
  /** Of the user that sends the load. */
  readonly sessionToken: string;
  /** By the names of spaces. */
  readonly ids: Readonly<Record<string, RecordIds>>;
}

const userPrefix = 'sluice-load-';
const types = { TEXT: 'String', NUMBER: 'Number', BOOLEAN: 'Boolean', DATETIME: 'Date' } as const;
/** "ClassNotEmpty", and "the class does not exist" of two versions. */
const noClass = [101, 103, 104];
/** What an application would have: only users who logged in. */
const isUser = { requiresAuthentication: true };
const permissions = {
  find: isUser,
  get: isUser,
  count: isUser,
  create: isUser,
  update: isUser,
  delete: isUser,
  addField: {},
};

/** The path of the API, and the header of the application. Throws a sentence when the keys are missing. */
export function parseAddress({ url, credential }: TargetAddress): {
  readonly base: string;
  /** Each with its line end. */
  readonly host: string;
  readonly appFields: string;
  readonly masterFields: string;
} {
  const at = credential?.indexOf(':') ?? -1;
  if (credential === null || at < 0) throw new Error('the target needs --token appId:masterKey');
  const { host, pathname } = new URL(url);
  const appFields = `X-Parse-Application-Id: ${credential.slice(0, at)}\r\n`;
  const base = pathname === '/' ? '/parse' : pathname.replace(/\/$/, '');
  return {
    base,
    host: `Host: ${host}\r\n`,
    appFields,
    masterFields: `X-Parse-Master-Key: ${credential.slice(at + 1)}\r\n`,
  };
}

/** Makes the classes of a mix anew, with a user who may use them, and stores their records. */
export async function prepareClasses(work: Preparation): Promise<PreparedClasses> {
  const { mix } = work;
  return await asMaster(work, async (calls, base) => {
    await remove(calls, base, mix);
    const sessionToken = await signUp(work, base);
    const ids: Record<string, RecordIds> = {};
    for (const space of mix.spaces) {
      await make(calls, base, mix, space);
      ids[space.name] = await fill(calls, base, work, space);
    }
    return { sessionToken, ids };
  });
}

/** Removes the classes of a mix, and the users that runs have made. */
export async function removeClasses(work: Preparation): Promise<void> {
  await asMaster(work, (calls, base) => remove(calls, base, work.mix));
}

/** Runs requests with the master key. */
export async function asMaster<Value>(
  work: Preparation,
  run: (calls: JsonCalls, base: string) => Promise<Value>,
): Promise<Value> {
  const { base, appFields, masterFields } = parseAddress(work.address);
  const calls = new JsonCalls(work, appFields + masterFields);
  try {
    return await run(calls, base);
  } finally {
    calls.close();
  }
}

/** Without the master key: a session belongs to a user who signs up. @returns its token */
async function signUp(work: Preparation, base: string): Promise<string> {
  const calls = new JsonCalls(work, parseAddress(work.address).appFields);
  const user = {
    username: `${userPrefix}${randomBytes(8).toString('hex')}`,
    password: randomBytes(16).toString('hex'),
  };
  try {
    const { sessionToken } = await calls.must<{ sessionToken: string }>(
      'a user signs up',
      'POST',
      `${base}/users`,
      user,
    );
    return sessionToken;
  } finally {
    calls.close();
  }
}

async function make(calls: JsonCalls, base: string, mix: Mix, space: MixSpace): Promise<void> {
  const className = classOf(space.name);
  const fields = Object.fromEntries(space.fields.map(({ name, type }) => [name, { type: types[type] }]));
  // it has no unique fields: an operator declares them in the database
  const unique = space.fields.filter((field) => field.unique).map(({ name }) => [name]);
  const indexes = Object.fromEntries(
    [...unique, ...indexesOf(mix, space)].map((columns) => [
      `${className}_${columns.join('_')}`,
      Object.fromEntries(columns.map((column) => [column, 1])),
    ]),
  );
  const description = { className, fields, indexes, classLevelPermissions: permissions };
  await calls.must(`the class ${className} is made`, 'POST', `${base}/schemas/${className}`, description);
}

async function fill(calls: JsonCalls, base: string, work: Preparation, space: MixSpace): Promise<RecordIds> {
  const ids = new RecordIdsWriter(space.records);
  const values = parseValues(space);
  const path = `${base}/classes/${classOf(space.name)}`;
  await storeRecords(work, work.mix, space, async (records, first) => {
    const requests = records.map((record) => ({ method: 'POST', path, body: values(record) }));
    type Stored = readonly { readonly success?: { readonly objectId: string } }[];
    const stored = await calls.must<Stored>('a batch of records is stored', 'POST', `${base}/batch`, {
      requests,
    });
    for (const [at, { success }] of stored.entries()) {
      if (success === undefined) throw new Error(`record ${first + at} of ${space.name} is not stored`);
      ids.set(first + at, success.objectId);
    }
  });
  return ids.ids;
}

async function remove(calls: JsonCalls, base: string, { spaces }: Mix): Promise<void> {
  for (const space of spaces) {
    const className = classOf(space.name);
    for (const [method, path] of [
      ['DELETE', `purge/${className}`],
      ['DELETE', `schemas/${className}`],
    ] as const) {
      const { status, value } = await calls.send<{ code: number }>(method, `${base}/${path}`);
      if (status < 300 || status === 404 || noClass.includes(value?.code ?? 0)) continue;
      throw new Error(
        `the class ${className} is not removed: the server answered ${status} ${JSON.stringify(value)}`,
      );
    }
  }
  const where = encodeURIComponent(JSON.stringify({ username: { $regex: `^${userPrefix}` } }));
  type Users = { readonly results: readonly { readonly objectId: string }[] };
  const { results } = await calls.must<Users>(
    'users are listed',
    'GET',
    `${base}/users?keys=objectId&limit=1000&where=${where}`,
  );
  for (const { objectId } of results)
    await calls.must('a user is removed', 'DELETE', `${base}/users/${objectId}`);
}
