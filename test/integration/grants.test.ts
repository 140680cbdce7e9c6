/** What an access token is for: every operation with a token that lacks just what it needs, and one that has nothing else. */
import t from 'tap';
import type { AccessToken } from '#auth/access-tokens.ts';
import { assertGranted, createAuthenticate, type Principal } from '#auth/authenticate.ts';
import type { ApiError } from '#kernel/errors/api-error.ts';
import {
  type Grant,
  type Grants,
  grantNames,
  grantsInWords,
  inSpace,
  lackOf,
  type Need,
  readGrants,
  type TouchedSpaces,
} from '#kernel/grants.ts';
import type { Route } from '#server/http/http-types.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { queryTable } from '../services/openapi-document.ts';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { filesInMemory, testGateway } from '../services/test-gateway.ts';

const token: AccessToken = {
  id: 't',
  hash: '',
  userId: 'owner',
  name: '',
  createdAt: new Date(),
  expiresAt: null,
  revokedAt: null,
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
  const login = JSON.stringify({ mustExistSpaceStructures: [{ slug: 'own-space' }] });
  if (/\/function\/(?!send-)/.test(path)) return { 'function-resources': login };
  return { 'content-type': path.endsWith('/upload') ? 'multipart/form-data; boundary=x' : 'text/plain' };
}

/** The answer of a route to a token: that it is not granted, or anything else. Nothing behind the token's check is there. */
async function ask({ path, api, method, handler }: Route, given: Grants): Promise<string> {
  grants = given;
  const params: Record<string, string> = {};
  for (const [, name = ''] of path.matchAll(/:(\w+)/g)) params[name] = `own-${name}`;
  const headers = { ...headersOf(path), authorization: 'Bearer x', structure: '{}' };
  const request = fakeRequest({ method, params, headers });
  try {
    await handler({ ...request, needs: api?.needs, path });
    return 'answered';
  } catch (error) {
    if ((error as ApiError).code !== 'not_granted') return String(error);
    return request.consumed ? 'it has read the body' : (error as Error).message;
  }
}

const refusals = /^The access token is not granted |^A publishable access token/;
const guarded = routes.filter(({ api }) => api?.needs);

t.test('every operation needs a grant, and asks for it before anything else', async (t) => {
  const seen = new Set<Grant>();
  for (const route of guarded) {
    const grant = route.api?.needs?.grant as Grant;
    seen.add(grant);
    const what = `${route.operation}: ${route.method} ${route.path}`;
    const others = grantNames.filter((name) => name !== grant);
    t.equal(await ask(route, { may: others }), `The access token is not granted ${grant}`, what);
  }
  for (const { api, operation, path } of routes)
    if (!api?.needs && !path.startsWith('/_oidc_/')) t.equal(api?.access, 'none', `${operation}: ${path}`);
  // asked for beside insert and find (import-formats.test.ts)
  t.strictSame([...seen, 'backup'].sort(), [...grantNames].sort(), 'each grant is for something');
});

/** What docs/api.md#grants says that tokens for some record spaces reach, by the names of operations. */
const lists = ['listProjects', 'listSpaces'];
const allSpaces = [
  ...['dropProject', 'getWebhookAddresses', 'switchWebhookAddressOn'],
  ...['getFileRules', 'setFileRules', 'tryFileRules', 'getImagePresets', 'setImagePresets'],
];
const missing = ['sendOtp', 'sendPushNotifications'];
/** A header names their space. */
const namesSpace = ['login', 'refreshLogin', 'logout', 'signUp', 'verifyEmail', 'resetPassword'];
/** They look up where a job is (import.test.ts). */
const jobs = ['listJobs', 'getJob', 'cancelJob'];

/** Its body names the space (oidc-login.test.ts). */
const namedLater = 'oidcLogin';

/** Whether docs/api.md#grants lets a token do it. Everything is in `own-project` and `own-space`. */
function isGranted({ operation = '', path, api }: Route, token: Grants): boolean {
  const grant = api?.needs?.grant as Grant;
  const { projects, spaces, may, publishable } = token;
  const isOfSpace = path.includes('/:space') || namesSpace.includes(operation);
  const isOfRecords = ['find', 'insert', 'update', 'delete'].includes(grant) && path.startsWith('/:project/');
  if (publishable && !(isOfRecords && !missing.includes(operation))) return false;
  if (may && !may.includes(grant)) return false;
  if (jobs.includes(operation)) return true;
  if (projects && !(path.includes(':project') && projects.includes('own-project'))) return false;
  if (!spaces || lists.includes(operation) || operation === namedLater) return true;
  if (isOfSpace) return spaces.includes('own-space');
  return !allSpaces.includes(operation) && may !== undefined;
}

t.test('tokens reach what they are for: all operations, asked with all kinds of tokens', async (t) => {
  const choices = <Value>(...values: Value[]) => values;
  let asked = 0;
  for (const route of guarded) {
    const grant = route.api?.needs?.grant as Grant;
    const others = grantNames.filter((name) => name !== grant);
    const wrong: string[] = [];
    for (const projects of choices(undefined, ['own-project'], ['other'], ['other', 'own-project']))
      for (const spaces of choices(undefined, ['own-space'], ['other'], ['other', 'own-space']))
        for (const may of choices<Grant[] | undefined>(undefined, [grant], others, [...grantNames]))
          for (const publishable of [false, true]) {
            const token: Grants = {
              ...(projects && { projects }),
              ...(spaces && { spaces }),
              ...(may && { may }),
              ...(publishable && { publishable, origins: ['*'] }),
            };
            const answer = await ask(route, token);
            asked++;
            if (refusals.test(answer) === isGranted(route, token))
              wrong.push(`${JSON.stringify(token)}: ${answer}`);
          }
    t.strictSame(wrong, [], `${route.operation}: ${route.method} ${route.path}`);
  }
  t.equal(asked, guarded.length * 4 * 4 * 4 * 2);
  t.comment(`${guarded.length} routes, ${asked} requests`);
});

t.test('what does not say what it touches is refused to tokens for some spaces', async (t) => {
  // @ts-expect-error: no operation can leave it out
  const untold: Need = { grant: 'find' };
  for (const need of [untold, { grant: 'find', touches: 'a new kind' as TouchedSpaces }] as const) {
    const place = { project: 'own-project', space: 'own-space' };
    t.match(lackOf({ spaces: ['own-space'], may: [...grantNames] }, need, place), /for all record spaces/);
  }
  for (const need of [null, undefined]) {
    t.throws(() => assertGranted({ may: [...grantNames] }, need, {}), { code: 'not_granted' });
    assertGranted(undefined, need, {});
  }
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
  const most = grantNames.filter((name) => name !== 'backup' && name !== 'usage');
  t.equal(
    grantsInWords({ may: most, projects: ['shop'] }),
    'may do everything but see the usage and back up and restore (includes password hashes) in shop',
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
      publishable: true,
      origins: [origin],
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
    return check({ ...fakeRequest({ headers }), needs: inSpace('find') }, 'by rules') as Principal;
  };
  for (const origin of [undefined, 'https://a.io']) void from(origin).admit?.('user u');
  for (const origin of ['https://b.io', 'http://a.io', 'null'])
    t.throws(() => from(origin), /not for pages of/);
  t.strictSame(senders, ['t user u', 't user u'], 'not by the token');
  const request = { ...fakeRequest({ headers: { authorization: 'Bearer x' } }), needs: inSpace('find') };
  t.throws(() => check(request), /publishable/, 'only where rules bind');
});
