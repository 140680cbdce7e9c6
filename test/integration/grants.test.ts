/** What an access token is for: every operation with a token that lacks just what it needs, and one that has nothing else. */
import t from 'tap';
import type { AccessToken } from '../../common/auth/access-tokens.ts';
import { createAuthenticate, type Principal } from '../../common/auth/authenticate.ts';
import type { ApiError } from '../../common/errors/api-error.ts';
import {
  type Grant,
  type Grants,
  grantNames,
  grantsInWords,
  readGrants,
} from '../../common/openapi/grants.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { queryTable } from '../services/openapi-document.ts';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { filesInMemory, testGateway } from '../services/test-gateway.ts';

const token: AccessToken = {
  ...{ id: 't', hash: '', userId: 'owner', name: '' },
  ...{ createdAt: new Date(), expiresAt: null, revokedAt: null },
};
let grants: Grants = {};
const authenticate = createAuthenticate({ checkKnown: () => ({ ...token, grants }) } as never);
const files = { store: {} as never, cloudFiles: filesInMemory().cloudFiles };
const routes = [...testGateway({ authenticate, ...files }), ...queryTable(authenticate)];

/** What is looked at before the token. */
function headersOf(path: string): Record<string, string> {
  const tus = {
    'tus-resumable': '1.0.0',
    'upload-length': '5',
    'upload-offset': '0',
    'x-http-method-override': 'PATCH',
  };
  if (path.includes('/resumable')) return { ...tus, 'content-type': 'application/offset+octet-stream' };
  return { 'content-type': path.endsWith('/upload') ? 'multipart/form-data; boundary=x' : 'text/plain' };
}

t.test('every operation needs a grant, and asks for it before anything else', async (t) => {
  const seen = new Set<Grant>();
  for (const { method, path, operation, api, handler } of routes) {
    const what = `${operation}: ${method} ${path}`;
    if (api === undefined || api.needs === null) {
      t.equal(api?.access, 'none', what);
      continue;
    }
    const { needs } = api;
    seen.add(needs);
    const params: Record<string, string> = {};
    for (const [, name = ''] of path.matchAll(/:(\w+)/g)) params[name] = `own-${name}`;
    const ask = async (given: Grants): Promise<string> => {
      grants = given;
      const headers = { ...headersOf(path), authorization: 'Bearer x', structure: '{}' };
      const request = fakeRequest({ method, params, headers });
      try {
        await handler({ ...request, needs, path });
        return 'answered';
      } catch (error) {
        t.notOk(
          request.consumed && (error as ApiError).code === 'not_granted',
          `${what}: its body is left alone`,
        );
        return (error as ApiError).code === 'not_granted' ? (error as Error).message : String(error);
      }
    };
    const others = grantNames.filter((name) => name !== needs);
    t.equal(await ask({ may: others }), `The access token is not granted ${needs}`, what);
    t.not(await ask({ may: [needs] }), `The access token is not granted ${needs}`, what);
    // a job says itself where it is (import.test.ts)
    if (path.startsWith('/_jobs_')) continue;
    const there = params.project === undefined ? 'for all projects' : `in the project ${params.project}`;
    t.equal(await ask({ projects: ['other'] }), `The access token is not granted ${needs} ${there}`, what);
    const space =
      params.space === undefined ? 'beside its record spaces' : `in the record space ${params.space}`;
    t.equal(await ask({ spaces: ['other'] }), `The access token is not granted ${needs} ${space}`, what);
    const isOfRecords =
      ['find', 'insert', 'update', 'delete'].includes(needs) && path.startsWith('/:project/');
    const isRuled = isOfRecords && !path.includes('structure') && !path.includes('/function/send');
    const published = await ask({ publishable: true, origins: ['*'] });
    if (isRuled) t.notMatch(published, /not granted|publishable/, what);
    else t.match(published, /not granted|publishable/, `${what}: no page may`);
    if (params.project !== undefined)
      t.notMatch(await ask({ projects: ['other', params.project] }), /not granted/, what);
  }
  // asked for beside insert and find (import-formats.test.ts)
  t.strictSame([...seen, 'backup'].sort(), [...grantNames].sort(), 'each grant is for something');
});

const harness = await queryHarnessFor(t);
const fields = fieldsOf('name TEXT, code TEXT unique, secret TEXT');
const orders = spaceOf(harness, 'shop', 'orders', fields);
const people = spaceOf(harness, 'shop', 'people', fields);
const as = (given: Grants) => ({ 'test-grants': JSON.stringify(given) });
const notGranted = (text: RegExp | string) => ({ ...refusal('not_granted', text), status: 403 });

t.test('a token for one space is for no other one, in whatever way it is named', async (t) => {
  await orders.insert([{ name: 'a', code: '1' }]);
  await people.insert([{ name: 'Ada', code: 'p1' }]);
  const own = as({ projects: ['shop'], spaces: ['orders'] });
  t.match(await orders.find('name=a', undefined, own), { status: 200, body: [{ code: '1' }] });
  t.match(await people.find('', undefined, own), notGranted(/find in the record space people/));
  const missing = spaceOf(harness, 'shop', 'nowhere', fields);
  t.match(await missing.find('', undefined, own), notGranted(/find in the record space nowhere/));
  const populate = (space: string) => {
    const from = { from: space, foreignKey: 'name', localKey: 'name', newField: 'found' };
    return orders.find('', { populate: [{ space, fields: from }] }, own);
  };
  for (const name of ['people', 'People', 'nowhere'])
    t.match(await populate(name), notGranted(`find in the record space ${name}`), `populate from ${name}`);
  t.match(await populate('Orders'), { status: 200 });
});

t.test('without the grant structure a request changes no structure', async (t) => {
  const reader = as({ may: ['find', 'insert', 'update'] });
  const before = await harness.call({ path: '/shop/orders/openapi.json', structure: orders.structure });
  const part = spaceOf(harness, 'shop', 'orders', fieldsOf('name TEXT, code TEXT'));
  const { body } = await part.find('', undefined, reader);
  t.strictSame(Object.keys(body[0]), ['id', 'name', 'code', 'createdAt', 'updatedAt']);
  t.match(
    await part.insert([{ name: 'b', code: '1' }], reader),
    refusal('not_unique'),
    'it is unique as stored',
  );
  for (const other of ['name NUMBER', 'name TEXT, more TEXT', 'title TEXT', 'name TEXT hashed']) {
    const space = spaceOf(harness, 'shop', 'orders', fieldsOf(other));
    t.match(await space.find('', undefined, reader), notGranted(/structure/), other);
    t.match(await space.insert([{}], reader), notGranted(/structure/), other);
  }
  const hooks = spaceOf(harness, 'shop', 'orders', fields, {
    webhooks: [{ url: 'https://a.example', events: [] }],
  });
  await hooks.find('', undefined, reader);
  t.match(await spaceOf(harness, 'shop', 'fresh', fields).insert([{ name: 'x' }], reader), {
    status: 404,
    code: 'record_space_not_found',
  });
  const after = await harness.call({ path: '/shop/orders/openapi.json', structure: orders.structure });
  t.strictSame(after.body, before.body);
  const inferred = await orders.insert([{ name: 'c', code: '3' }], reader);
  t.equal(inferred.status, 200);
});

t.test('an upsert that changes records needs both grants', async (t) => {
  const upsert = (may: Grant[]) =>
    orders.insert([{ name: 'changed', code: '1' }], {
      ...as({ may }),
      options: JSON.stringify({ onConflict: { field: 'code', do: 'update' } }),
    });
  t.match(await upsert(['insert']), notGranted(/update/));
  t.match(await orders.find('code=1'), { body: [{ name: 'a' }] });
  t.match(await upsert(['insert', 'update']), { status: 200 });
});

t.test('grants are read with all their problems, and said in words', async (t) => {
  const read = (value: unknown) => {
    const problems: string[] = [];
    return { grants: readGrants(value, problems), problems };
  };
  for (const nothing of [null, undefined, {}, { may: null }])
    t.strictSame(read(nothing), { grants: undefined, problems: [] });
  for (const wrong of [[], 'find', 7, { may: [] }, { may: 'find' }, { may: ['fly'] }, { more: [] }])
    t.equal(read(wrong).problems.length, 1, JSON.stringify(wrong));
  t.equal(read({ projects: ['a b'], spaces: [7], may: [null] }).problems.length, 3);
  t.strictSame(read({ spaces: ['Orders, of 2026'] }).grants, { spaces: ['Orders, of 2026'] });
  t.strictSame(read({ may: ['find', 'find'] }).grants, { may: ['find'] });
  t.equal(read({ spaces: Array.from({ length: 101 }, (_, i) => `s${i}`) }).problems.length, 1);
  t.equal(
    grantsInWords({ may: ['find'], spaces: ['orders'], projects: ['shop'] }),
    'may read records in orders of shop',
  );
  t.equal(grantsInWords({ projects: ['a', 'b'] }), 'may do everything in a and b');
  t.equal(
    grantsInWords({ may: ['find', 'insert', 'usage'] }),
    'may read records, insert records and see the usage',
  );
});

t.test('a publishable token is for its pages, and counts users and addresses', async (t) => {
  const problems: string[] = [];
  t.strictSame(readGrants({ publishable: true, origins: ['https://a.io', '*'] }, problems), {
    publishable: true,
    origins: ['https://a.io', '*'],
  });
  t.strictSame(problems, []);
  for (const bad of [
    { publishable: true },
    { origins: ['https://a.io'] },
    { publishable: 'yes', origins: ['https://a.io'] },
    ...['a.io', 'https://a.io/', 'https://a.io/page', 'ftp://a.io', 'null', ''].map((origin) => ({
      ...{ publishable: true, origins: [origin] },
    })),
  ]) {
    const found: string[] = [];
    readGrants(bad, found);
    t.ok(found.length > 0, JSON.stringify(bad));
  }
  t.match(
    grantsInWords({ publishable: true, origins: ['https://a.io'] }),
    /as rules allow, from pages of https:\/\/a.io/,
  );

  const senders: string[] = [];
  const limiter = { admit: (sender: string) => void senders.push(sender), close() {} };
  const stored = { ...token, grants: { publishable: true, origins: ['https://a.io'] } as const };
  const check = createAuthenticate({ checkKnown: () => stored } as never, limiter);
  const from = (origin?: string) => {
    const headers = { authorization: 'Bearer x', ...(origin && { origin }) };
    return check({ ...fakeRequest({ headers }), needs: 'find' }, 'by rules') as Principal;
  };
  for (const origin of [undefined, 'https://a.io']) void from(origin).admit?.('user u');
  for (const origin of ['https://b.io', 'http://a.io', 'null'])
    t.throws(() => from(origin), /not for pages of/);
  t.strictSame(senders, ['t user u', 't user u'], 'not by the token');
  const request = { ...fakeRequest({ headers: { authorization: 'Bearer x' } }), needs: 'find' as const };
  t.throws(() => check(request), /publishable/, 'only where rules bind');
});
