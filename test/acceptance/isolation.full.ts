/** Two users with the same project and space slugs never see, change or list what the other owns. */
import fc from 'fast-check';
import t from 'tap';
import { Attacker, attempts, operations } from '../services/attacker.ts';
import { routeTable } from '../services/openapi-document.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { seed, sized } from '../services/test-size.ts';

const sluice = await sluiceFor(t);

async function tokenOf(email: string): Promise<string> {
  const args = ['--user', email, '--create-user'];
  return (await runToEnd('cli/token.ts', args, { DATA_DIR: sluice.dataDir })).stdout.trim();
}

const alice = await tokenOf('alice@example.com');
const bob = await tokenOf('bob@example.com');
const structure = structureOf('shared', 'notes', fieldsOf('text TEXT unique, n NUMBER'));
const as = (token: string) => ({
  find: (query = '') => call({ baseUrl: sluice.baseUrl, token, path: `/shared/notes${query}`, structure }),
  findOne: (query = '') =>
    call({ baseUrl: sluice.baseUrl, token, path: `/shared/notes/_single_${query}`, structure }),
  insert: (body: unknown) => call({ baseUrl: sluice.baseUrl, token, path: '/shared/notes', structure, body }),
  stored: () =>
    call({
      baseUrl: sluice.baseUrl,
      token,
      path: '/shared/notes',
      headers: { 'use-pre-stored-structure': 'true', 'auto-create-record-space': 'false' },
    }),
});

type More = Omit<Parameters<typeof call>[0], 'baseUrl' | 'token' | 'path'>;
/** A status or an answer as it should be, and what bob asks for or has got. */
type Case = readonly [number | object, string | { status: number; body: unknown }, More?];

const bytesOfUpload = 'application/offset+octet-stream';

t.test('records', async (t) => {
  t.match(await as(bob).stored(), { status: 404 }, 'nothing there yet');
  const [note] = (await as(alice).insert([{ text: 'of alice', n: 1 }])).body;
  t.match(await as(bob).stored(), { status: 404 }, "alice's space is not bob's");
  t.strictSame((await as(bob).find()).body, []);
  t.strictSame((await as(bob).find(`?id=${note.id}`)).body, []);
  t.strictSame((await as(bob).findOne('?text=of%20alice')).body, null);
  t.equal(
    (await as(bob).insert([{ text: 'of alice', n: 2 }])).status,
    200,
    'unique within a space of one owner',
  );
  t.match((await as(alice).find()).body, [{ text: 'of alice', n: 1 }]);
  t.match((await as(bob).find()).body, [{ text: 'of alice', n: 2 }]);
});

t.test('every route: what another owns is not read, changed or listed', async (t) => {
  const { baseUrl } = sluice;
  const project = 'everything';
  const notes = structureOf(project, 'notes', fieldsOf('text TEXT unique, n NUMBER'));
  const users = structureOf(project, 'users', fieldsOf('email TEXT, password TEXT hashed'));
  const keys = structureOf(project, 'keys', fieldsOf('theme TEXT'));
  const guarded = structureOf(project, 'guarded', fieldsOf('text TEXT'), {
    authOptions: { space: 'users', scope: ['find'] },
  });
  const preStored = { 'use-pre-stored-structure': 'true' };
  const request = (token: string, path: string, more: More) =>
    call({ baseUrl, token, path: `/${project}${path}`, ...more });
  const files = (token: string, path: string, { headers, ...init }: RequestInit = {}) =>
    fetch(`${baseUrl}/_f_/${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...headers } });

  // what alice owns; every text of it says so
  const [mine] = (await request(alice, '/notes', { structure: notes, body: [{ text: 'of alice', n: 1 }] }))
    .body;
  const { body: user } = await request(alice, '/users/_single_', {
    structure: users,
    body: { email: 'alice@of-alice', password: 'of alice' },
  });
  await request(alice, '/keys/set-key-values', { structure: keys, body: { theme: 'of alice' } });
  const credentials = { email: 'alice@of-alice', password: 'of alice' };
  const resources = { 'function-resources': `{"mustExistSpaceStructures":[${users}]}` };
  const login = (token: string) =>
    request(token, '/function/login', { headers: resources, body: credentials });
  const { token: loginToken } = (await login(alice)).body;
  t.type(loginToken, 'string');
  await request(alice, '/guarded/set-structure', { body: JSON.parse(guarded) });
  const csv = { body: 'text\n', headers: { 'content-type': 'text/csv' } };
  const { id: job } = (await request(alice, '/keys/_import_', csv)).body;
  const form = new FormData();
  form.set('file', new Blob(['file of alice']), 'of-alice.txt');
  const upload = (token: string, body: FormData) =>
    files(token, `${project}/upload`, { method: 'POST', body });
  const file = (await (await upload(alice, form)).json()) as {
    name: string;
    s3Link: string;
    ownedBy: string;
  };

  const placed = await files(alice, `${project}/new/of-alice.txt`, { method: 'PUT', body: 'place of alice' });
  const { folder } = (await placed.json()) as { folder: string };

  /** Requests about uploads that can go on. */
  const resumable = (token: string, method: string, name = '', headers: Record<string, string> = {}) =>
    files(token, `${project}/resumable${name}`, {
      method,
      headers: { 'tus-resumable': '1.0.0', ...headers },
      ...(method === 'PATCH' && { body: 'more' }),
    });
  const begun = await resumable(alice, 'POST', '', { 'upload-length': '8' });
  const unfinished = `/${begun.headers.get('location')?.split('/').at(-1)}`;
  const bytes = { 'content-type': bytesOfUpload, 'upload-offset': '0' };

  /** Requests about uploads that clients send by addresses. */
  const direct = (token: string, method: string, path = '', body?: string) => {
    const headers = { 'content-type': 'application/json' };
    return files(token, `${project}/direct${path}`, { method, headers, ...(body !== undefined && { body }) });
  };
  const wanted = JSON.stringify({ name: 'of-alice.txt', size: 8 });
  type Plan = { readonly id: string; readonly parts: readonly { readonly url: string }[] };
  const planned = (await (await direct(alice, 'POST', '', wanted)).json()) as Plan;
  const [part] = planned.parts;

  const challenge = 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg';
  const oidcPath = `/_projects_/${project}/spaces/accounts/oidc`;
  const accounts = structureOf(project, 'accounts', fieldsOf('email TEXT unique'));
  await request(alice, '/accounts/set-structure', { body: JSON.parse(accounts) });
  const oidc = {
    issuer: 'https://login.example.com',
    ...{ clientId: 'of alice', clientSecret: 'of alice', returnTo: ['https://app.example.com/'] },
  };
  t.match(await call({ baseUrl, token: alice, method: 'PUT', path: oidcPath, body: oidc }), { status: 200 });
  const filePath = `/_projects_/${project}/files/rules`;
  const fileRules = { read: { name: 'of alice' } };
  t.match(await call({ baseUrl, token: alice, method: 'PUT', path: filePath, body: fileRules }), {
    status: 200,
  });

  const presetPath = `/_projects_/${project}/files/presets`;
  const presets = { ofalice: { width: 40, height: 30 } };
  t.match(await call({ baseUrl, token: alice, method: 'PUT', path: presetPath, body: presets }), {
    status: 200,
  });

  /** Everything of alice's, as text. */
  const state = async (): Promise<string> => {
    const parts = [];
    for (const path of [oidcPath, filePath, presetPath])
      parts.push((await call({ baseUrl, token: alice, path })).body);
    for (const path of ['/notes', '/users', '/keys', '/keys/get-key-values']) {
      parts.push((await request(alice, path, { headers: preStored })).body);
    }
    parts.push((await request(alice, '/guarded', { headers: { ...preStored, token: loginToken } })).body);
    const headers = { authorization: `Bearer ${alice}` };
    parts.push(await (await fetch(file.s3Link, { headers })).text());
    parts.push((await resumable(alice, 'HEAD', unfinished)).headers.get('upload-offset'));
    parts.push(await (await direct(alice, 'GET', `/${planned.id}?uploaded=true`)).json());
    return JSON.stringify(parts);
  };
  const before = await state();
  t.match(before, /of alice.*file of alice/);

  const id = `id=${mine.id}`;
  const ok = (body: unknown) => ({ status: 200, body });
  const noMatch = { status: 400, body: { code: 'no_match' } };
  const dropAs = async (token: string, path: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const { status } = await fetch(`${baseUrl}/_projects_${path}`, { method: 'DELETE', headers });
    return { status, body: null };
  };
  const structure = notes;
  const cases: Readonly<Record<string, readonly Case[] | (() => Promise<readonly Case[] | undefined>)>> = {
    'GET /:project/:space': [
      [404, '/notes', { headers: preStored }],
      [ok([]), '/notes', { structure }],
      [ok([]), `/notes?${id}`, { structure }],
      [ok([]), '/notes?text=of%20alice', { structure }],
      // a login token of alice's user opens nothing of bob's, nor the other way about
      [401, '/guarded', { structure: guarded, headers: { token: loginToken } }],
    ],
    'QUERY /:project/:space': [[ok([]), '/notes', { method: 'QUERY', structure, body: { n: 1 } }]],
    'POST /:project/:space/_find_': [[ok([]), '/notes/_find_', { structure, body: { id: mine.id } }]],
    'QUERY /:project/:space/_single_': [
      [ok(null), '/notes/_single_', { method: 'QUERY', structure, body: { n: 1 } }],
    ],
    'POST /:project/:space/_single_/_find_': [
      [ok(null), '/notes/_single_/_find_', { structure, body: { id: mine.id } }],
    ],
    'GET /:project/:space/_single_': [
      [ok(null), `/notes/_single_?${id}`, { structure }],
      [ok(null), '/users/_single_?email=alice@of-alice&password=of%20alice', { structure: users }],
    ],
    'GET /:project/:space/search': [
      [ok([]), '/notes/search?searchText=&searchableFields=text', { structure }],
    ],
    'GET /:project/:space/_count_': [
      [404, '/notes/_count_', { headers: preStored }],
      [ok({ count: 0 }), `/notes/_count_?${id}`, { structure }],
      [401, '/guarded/_count_', { structure: guarded, headers: { token: loginToken } }],
    ],
    'QUERY /:project/:space/_count_': [
      [ok({ count: 0 }), '/notes/_count_', { method: 'QUERY', structure, body: { n: 1 } }],
    ],
    ...Object.fromEntries(
      ['csv', 'ndjson', 'json', 'parquet', 'arrow'].flatMap((format): [string, readonly Case[]][] => {
        const asked = { headers: { token: loginToken } };
        const at = (space: string): string => `/${space}/_export_.${format}`;
        return [
          [
            `GET /:project/:space/_export_.${format}`,
            [
              [404, at('nowhere'), {}],
              [404, at('guarded'), asked],
            ],
          ],
          [
            `QUERY /:project/:space/_export_.${format}`,
            [[404, at('guarded'), { method: 'QUERY', body: { n: 1 }, ...asked }]],
          ],
        ];
      }),
    ),
    'POST /:project/:space/_import_': [
      [
        { status: 202, body: { inserted: 0 } },
        '/notes/_import_',
        { body: 'text\n', headers: { 'content-type': 'text/csv' } },
      ],
    ],
    'POST /:project/:space/_live_': [
      [{ status: 200, body: { expiresAt: String } }, '/notes/_live_', { structure: notes, body: {} }],
      [401, '/guarded/_live_', { structure: guarded, headers: { token: loginToken }, body: {} }],
    ],
    'GET /:project/:space/_live_': [[401, '/notes/_live_?key=AAAA', {}]],
    'POST /:project/:space/_aggregate_': [
      [ok([]), '/notes/_aggregate_', { structure, body: { groupBy: ['text'] } }],
      [
        401,
        '/guarded/_aggregate_',
        {
          structure: guarded,
          headers: { token: loginToken },
          body: { groupBy: ['text'] },
        },
      ],
    ],
    'QUERY /:project/:space/_aggregate_': [
      [
        ok([{ n: 0 }]),
        '/notes/_aggregate_',
        { method: 'QUERY', structure, body: { values: { n: 'count' } } },
      ],
    ],
    'GET /:project/:space/get-key-values': [[ok(null), '/keys/get-key-values', { structure: keys }]],
    'GET /:project/:space/openapi.json': [
      [404, '/nowhere/openapi.json', {}],
      [404, '/guarded/openapi.json', { headers: { token: loginToken } }],
    ],
    'GET /:project/:space/get-token-owner': [
      [401, '/users/get-token-owner', { structure: users, headers: { token: loginToken } }],
    ],
    'POST /:project/:space': [
      [ok([{ n: 2 }]), '/notes', { structure, body: [{ text: 'of alice too', n: 2 }] }],
    ],
    'POST /:project/:space/_single_': [
      [ok({ n: 3 }), '/notes/_single_', { structure, body: { text: 'of bob', n: 3 } }],
    ],
    'POST /:project/:space/update': [
      [noMatch, `/notes/update?${id}`, { structure, body: { n: 4 } }],
      [noMatch, '/notes/update?text=of%20alice', { structure, body: { n: 4 } }],
    ],
    'POST /:project/:space/update-by-id': [
      [noMatch, `/notes/update-by-id?${id}`, { structure, body: { n: 4 } }],
    ],
    'POST /:project/:space/_update_': [
      [ok({ updated: 0 }), '/notes/_update_', { structure, body: { where: { id: mine.id }, set: { n: 4 } } }],
    ],
    'POST /:project/:space/_delete_': [
      [ok({ deleted: 0 }), '/notes/_delete_', { structure, body: { where: { id: mine.id } } }],
    ],
    'POST /:project/:space/set-key-values': [
      [ok({ theme: 'of bob' }), '/keys/set-key-values', { structure: keys, body: { theme: 'of bob' } }],
    ],
    'DELETE /:project/:space': [[noMatch, `/notes?${id}`, { structure, method: 'DELETE' }]],
    'DELETE /:project/:space/clear-records': [
      [200, '/notes/clear-records', { structure, method: 'DELETE' }],
      [200, '/users/clear-records', { structure: users, method: 'DELETE' }],
    ],
    'POST /:project/function/login': async () => [[401, await login(bob)]],
    // the space of bob has no such settings, whatever that of alice has
    'POST /:project/function/sign-up': [
      [403, '/function/sign-up', { headers: resources, body: credentials }],
    ],
    'POST /:project/function/verify-email': [
      [403, '/function/verify-email', { headers: resources, body: { email: credentials.email } }],
    ],
    'POST /:project/function/reset-password': [
      [403, '/function/reset-password', { headers: resources, body: { email: credentials.email } }],
    ],
    'POST /:project/function/refresh-login': [
      [401, '/function/refresh-login', { headers: { ...resources, token: loginToken }, body: {} }],
    ],
    'POST /:project/function/logout': [
      [401, '/function/logout', { headers: { ...resources, token: loginToken }, body: {} }],
    ],
    'POST /:project/:space/_oidc_/start': [
      [403, '/users/_oidc_/start', { body: { returnTo: 'https://app.example.com/', challenge } }],
    ],
    'POST /:project/function/oidc-login': [
      [401, '/function/oidc-login', { body: { code: 'x', verifier: 'x' } }],
    ],
    'GET /_oidc_/start': async () => [
      [401, await call({ baseUrl, token: bob, path: '/_oidc_/start?key=x' })],
    ],
    'GET /_oidc_/callback': async () => [
      [401, await call({ baseUrl, token: bob, path: '/_oidc_/callback?state=x&code=x' })],
    ],
    'POST /:project/function/send-otp': [[501, '/function/send-otp', { body: credentials }]],
    'POST /:project/function/send-push-notification': [
      [501, '/function/send-push-notification', { body: credentials }],
    ],
    'GET /_webhooks_/secret': async () => {
      const secretOf = async (token: string) =>
        (await call({ baseUrl, token, path: '/_webhooks_/secret' })).body.secret as string;
      t.not(await secretOf(alice), await secretOf(bob));
    },
    'GET /_webhooks_/deliveries': async () => {
      const { body } = await call({ baseUrl, token: bob, path: '/_webhooks_/deliveries' });
      t.strictSame(body, []);
    },
    'POST /_webhooks_/deliveries/:id/send': async () => {
      const hooked = structureOf(project, 'hooked', fieldsOf('text TEXT'), {
        webhooks: { onInsertUrl: 'http://127.0.0.1:9/' },
      });
      await request(alice, '/hooked', { structure: hooked, body: [{ text: 'of alice' }] });
      const { body } = await call({ baseUrl, token: alice, path: '/_webhooks_/deliveries' });
      const path = `/_webhooks_/deliveries/${body[0].id}/send`;
      return [[404, await call({ baseUrl, token: bob, path, method: 'POST' })]];
    },
    'GET /_webhooks_/addresses': async () => {
      const { body } = await call({ baseUrl, token: bob, path: '/_webhooks_/addresses' });
      t.strictSame(body, []);
    },
    'POST /_webhooks_/addresses/on': async () => {
      const path = '/_webhooks_/addresses/on?url=http://127.0.0.1:9/';
      const { body } = await call({ baseUrl, token: bob, path, method: 'POST' });
      t.strictSame(body, []);
    },
    'POST /:project/:space/set-structure': [
      [
        200,
        '/notes/set-structure',
        {
          body: { recordStructure: [{ name: 'b', slug: 'b', type: 'TEXT' }] },
        },
      ],
      [
        200,
        '/guarded/set-structure',
        {
          body: { recordStructure: [], authOptions: { active: false } },
        },
      ],
    ],
    'POST /:project/:space/set-inferred-structure': [
      [200, '/keys/set-inferred-structure', { body: { other: 1 } }],
    ],
    'POST /:project/:space/get-inferred-structure': [
      [ok({ recordStructure: [{ name: 'x' }] }), '/notes/get-inferred-structure', { body: { x: 1 } }],
    ],
    'POST /_f_/:project/upload': async () => {
      const body = new FormData();
      body.set('file', new Blob(['of bob']), file.name);
      const answer = (await (await upload(bob, body)).json()) as { name: string; ownedBy: string };
      t.not(answer.name, file.name);
      t.not(answer.ownedBy, file.ownedBy);
    },
    'PUT /_f_/:project/:name': async () => {
      const answer = await files(bob, `${project}/${file.name}`, { method: 'PUT', body: 'of bob' });
      const { name, ownedBy } = (await answer.json()) as { name: string; ownedBy: string };
      t.not(name, file.name);
      t.not(ownedBy, file.ownedBy);
    },
    'POST /_f_/:project/resumable': async () => {
      const own = await resumable(bob, 'POST', '', { 'upload-length': '8' });
      t.equal(own.status, 201);
      t.not(own.headers.get('location'), begun.headers.get('location'));
      const parts = { 'upload-concat': `final;${begun.headers.get('location')}` };
      t.equal((await resumable(bob, 'POST', '', parts)).status, 404);
    },
    'POST /_f_/:project/upload-link': async () => {
      const asked = { method: 'POST', body: '{"expiresIn":60}' };
      const link = await files(bob, `${project}/upload-link`, asked);
      const { put } = (await link.json()) as { put: string };
      const answer = await fetch(put.replace('{name}', 'a'), { method: 'PUT', body: 'of bob' });
      t.not(((await answer.json()) as { ownedBy: string }).ownedBy, file.ownedBy);
    },
    'GET /_f_/:project/resumable/:name': async () => {
      for (const method of ['HEAD', 'GET']) t.equal((await resumable(bob, method, unfinished)).status, 404);
    },
    'PATCH /_f_/:project/resumable/:name': async () => {
      t.equal((await resumable(bob, 'PATCH', unfinished, bytes)).status, 404);
    },
    'POST /_f_/:project/resumable/:name': async () => {
      for (const method of ['PATCH', 'HEAD', 'DELETE']) {
        const headers = { ...bytes, 'x-http-method-override': method };
        t.equal((await resumable(bob, 'POST', unfinished, headers)).status, 404);
      }
    },
    'DELETE /_f_/:project/resumable/:name': async () => {
      t.equal((await resumable(bob, 'DELETE', unfinished)).status, 404);
    },
    'POST /_f_/:project/direct': async () => {
      const own = (await (await direct(bob, 'POST', '', wanted)).json()) as Plan;
      t.not(own.id, planned.id);
    },
    'GET /_f_/:project/direct/:name': async () => {
      for (const query of ['', '?uploaded=true&parts=1'])
        t.equal((await direct(bob, 'GET', `/${planned.id}${query}`)).status, 404);
    },
    'POST /_f_/:project/direct/:name/complete': async () => {
      t.equal((await direct(bob, 'POST', `/${planned.id}/complete`)).status, 404);
    },
    'DELETE /_f_/:project/direct/:name': async () => {
      t.equal((await direct(bob, 'DELETE', `/${planned.id}`)).status, 404);
    },
    'PUT /_f_/:project/direct/:name/:number': async () => {
      const own = (await (await direct(bob, 'POST', '', wanted)).json()) as Plan;
      // the address of a part of bob's, bent to the upload of alice
      const url = (own.parts[0]?.url ?? '').replace(own.id, planned.id);
      const owner = new URL(part?.url ?? '').searchParams.get('owner') ?? '';
      for (const address of [url, url.replace(/owner=[^&]+/, `owner=${owner}`)])
        t.equal((await fetch(address, { method: 'PUT', body: 'of bob !' })).status, 403);
    },
    // which says nothing of anybody
    'GET /_f_/:project/options': async () => {
      const [one, two] = [await files(alice, `${project}/options`), await files(bob, 'nowhere/options')];
      t.strictSame(await one.json(), await two.json());
    },
    'POST /_f_/:project/:name/link': async () => {
      for (const path of [`${project}/${file.name}`, `shared/${file.name}`]) {
        const headers = { 'content-type': 'application/json' };
        const init = { method: 'POST', headers, body: '{"expiresIn":60}' };
        t.equal((await files(bob, `${path}/link`, init)).status, 404, path);
      }
    },
    'POST /_f_/:project/:name/restore': async () => {
      for (const path of [`${project}/${file.name}`, `shared/${file.name}`])
        t.equal((await files(bob, `${path}/restore`, { method: 'POST' })).status, 404, path);
    },
    'GET /_f_/:project': async () => {
      const body = await (await files(bob, project)).text();
      // a file of bob's may be called like hers
      t.notMatch(body, `"name":"${file.name}"`);
      t.notMatch(body, file.ownedBy);
    },
    'DELETE /_f_/:project/:name': async () => {
      t.equal((await files(bob, `${project}/${file.name}`, { method: 'DELETE' })).status, 404);
    },
    'POST /_f_/:project/_delete_': async () => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ names: [file.name] }) };
      const response = await files(bob, `${project}/_delete_`, init);
      t.match(await response.json(), { deleted: 0, failed: [{ name: file.name, code: 'not_found' }] });
    },
    'QUERY /_f_/:project/:name': async () => {
      for (const path of [`${project}/${file.name}`, `shared/${file.name}`]) {
        const headers = { 'content-type': 'application/json' };
        t.equal((await files(bob, path, { method: 'QUERY', headers, body: '{}' })).status, 404, path);
      }
    },
    'POST /_f_/:project/:name/_find_': async () => {
      for (const path of [`${project}/${file.name}`, `shared/${file.name}`]) {
        const headers = { 'content-type': 'application/json' };
        const init = { method: 'POST', headers, body: '{}' };
        t.equal((await files(bob, `${path}/_find_`, init)).status, 404, path);
      }
    },
    'GET /_projects_': async () => [[200, await call({ baseUrl, token: bob, path: '/_projects_' })]],
    'GET /_projects_/:project/spaces': async () => [
      [{}, await call({ baseUrl, token: bob, path: `/_projects_/${project}/spaces` })],
    ],
    'GET /_projects_/:project/spaces/:space': async () => [
      [{}, await call({ baseUrl, token: bob, path: `/_projects_/${project}/spaces/notes` })],
    ],
    'GET /_projects_/:project/files/rules': async () => [
      [ok({ rules: null }), await call({ baseUrl, token: bob, path: `/_projects_/${project}/files/rules` })],
    ],
    'PUT /_projects_/:project/files/rules': async () => {
      const path = `/_projects_/${project}/files/rules`;
      return [[200, await call({ baseUrl, token: bob, method: 'PUT', path, body: { read: true } })]];
    },
    'GET /_projects_/:project/files/presets': async () => [
      [ok({ presets: {} }), await call({ baseUrl, token: bob, path: presetPath })],
    ],
    'PUT /_projects_/:project/files/presets': async () => {
      const body = { ofbob: { width: 4, height: 3 } };
      return [[200, await call({ baseUrl, token: bob, method: 'PUT', path: presetPath, body })]];
    },
    'POST /_projects_/:project/files/rules/try': async () => {
      const path = `/_projects_/${project}/files/rules/try`;
      const body = { operation: 'read', rules: { read: true } };
      return [[200, await call({ baseUrl, token: bob, path, body })]];
    },
    'GET /_projects_/:project/spaces/:space/oidc': async () => [
      [{}, await call({ baseUrl, token: bob, path: oidcPath })],
    ],
    'PUT /_projects_/:project/spaces/:space/oidc': async () => {
      return [[{}, await call({ baseUrl, token: bob, method: 'PUT', path: oidcPath, body: null })]];
    },
    'GET /_projects_/:project/spaces/:space/rules': async () => [
      [{}, await call({ baseUrl, token: bob, path: `/_projects_/${project}/spaces/notes/rules` })],
    ],
    'PUT /_projects_/:project/spaces/:space/rules': async () => {
      const path = `/_projects_/${project}/spaces/notes/rules`;
      const body = { find: true };
      return [[{}, await call({ baseUrl, token: bob, method: 'PUT', path, body })]];
    },
    'POST /_projects_/:project/spaces/:space/rules/try': async () => {
      const path = `/_projects_/${project}/spaces/notes/rules/try`;
      const body = { operation: 'find', rules: { find: true } };
      return [[{}, await call({ baseUrl, token: bob, path, body })]];
    },
    'GET /_jobs_': async () => [
      [ok({ jobs: [], next: null }), await call({ baseUrl, token: bob, path: '/_jobs_' })],
    ],
    'GET /_jobs_/:job': async () => [[404, await call({ baseUrl, token: bob, path: `/_jobs_/${job}` })]],
    'DELETE /_jobs_/:job': async () => [
      [404, await call({ baseUrl, token: bob, method: 'DELETE', path: `/_jobs_/${job}` })],
    ],
    'GET /_usage_': async () => {
      const carol = await tokenOf('carol@example.com');
      return [[ok({ days: [] }), await call({ baseUrl, token: carol, path: '/_usage_' })]];
    },
    // bob may drop what is his, under the same slugs
    'DELETE /_projects_/:project/spaces/:space/fields/:field': async () => [
      [{}, await dropAs(bob, `/${project}/spaces/notes/fields/text`)],
    ],
    'DELETE /_projects_/:project/spaces/:space': async () => [
      [{}, await dropAs(bob, `/${project}/spaces/notes`)],
      [{}, await dropAs(bob, `/${project}/spaces/users`)],
    ],
    'DELETE /_projects_/:project': async () => [[{}, await dropAs(bob, `/${project}`)]],
    'GET /_f_/:project/:folder/:rest*': async () => {
      for (const slug of [project, 'shared'])
        t.equal((await files(bob, `${slug}/${folder}/of-alice.txt`)).status, 404, slug);
    },
    'PUT /_f_/:project/:folder/:rest*': async () => {
      for (const headers of [{}, { 'if-match': '*' }] as Record<string, string>[])
        for (const path of ['of-alice.txt', 'of-bob.txt']) {
          const init = { method: 'PUT', body: 'of bob', headers };
          t.equal((await files(bob, `${project}/${folder}/${path}`, init)).status, 404, path);
        }
    },
    'DELETE /_f_/:project/:folder/:rest*': async () => {
      const init = { method: 'DELETE' };
      t.equal((await files(bob, `${project}/${folder}/of-alice.txt`, init)).status, 404);
    },
    'DELETE /_f_/:project/:folder/': async () => {
      t.equal((await files(bob, `${project}/${folder}/`, { method: 'DELETE' })).status, 404);
    },
    'GET /_f_/:project/:name': async () => {
      for (const path of [`${project}/${file.name}`, `shared/${file.name}`]) {
        const response = await files(bob, path);
        t.equal(response.status, 404, path);
        t.notMatch(await response.text(), /file of alice/);
      }
    },
  };
  t.strictSame(Object.keys(cases).sort(), routeTable(), 'every route has its case');
  for (const [route, run] of Object.entries(cases)) {
    await t.test(route, async (t) => {
      for (const [expected, asked, more] of (typeof run === 'function' ? await run() : run) ?? []) {
        const answer = typeof asked === 'string' ? await request(bob, asked, more ?? {}) : asked;
        t.match(answer, typeof expected === 'number' ? { status: expected } : expected);
        // a refusal repeats the id that was asked for
        const ids = answer.status === 200 ? `|${mine.id}|${user.id}` : '';
        t.notMatch(JSON.stringify(answer.body), new RegExp(`"of alice"|alice@of-alice${ids}`));
      }
      t.equal(await state(), before, "what is alice's is as it was");
    });
  }
  // her rules still hold in her space, whatever bob did to his
  t.equal((await request(alice, '/guarded', { headers: preStored })).status, 401);
  t.equal((await request(alice, '/guarded/openapi.json', {})).status, 401);
  t.equal((await request(alice, '/guarded/openapi.json', { headers: { token: loginToken } })).status, 200);
});

t.test('whatever somebody tries, what others have is neither read nor changed', async (t) => {
  const accounts = { alice, bob };
  const places = ['first', 'second', 'third', 'fourth'].flatMap((project) =>
    Object.entries(accounts).map(([account, token]) => ({ name: `${account}/${project}`, token, project })),
  );
  const seen = new Set<string>();
  let calls = 0;
  const run = async (attackers: readonly Attacker[], list: Parameters<Attacker['attempt']>[0][]) => {
    // all at once, so that what they write shares statements; each one's own calls in turn
    await Promise.all(
      attackers.map(async (attacker, index) => {
        for (const attempt of list) {
          if (attempt.place !== index) continue;
          seen.add(attempt.operation);
          await attacker.attempt(attempt, attackers[attempt.of] as Attacker);
        }
      }),
    );
    for (const attacker of attackers) await attacker.check();
  };
  let runs = 0;
  const property = fc.asyncProperty(attempts(places.length, 600), async (list) => {
    const round = `r${runs++}`;
    const attackers = places.map(
      (place) => new Attacker(sluice.baseUrl, { ...place, project: `${round}-${place.project}` }),
    );
    for (const attacker of attackers) await attacker.begin();
    await run(attackers, list);
    calls += attackers.reduce((sum, attacker) => sum + attacker.calls, 0);
    const problems = attackers.flatMap((attacker) => attacker.problems);
    if (problems.length > 0) throw new Error(problems.join('\n'));
  });
  const { failed, errorInstance } = await fc.check(property, {
    numRuns: sized(3, 1),
    seed,
    endOnFailure: true,
  });
  // as a value: a message of many lines would not be shown
  const problems = failed ? String(errorInstance).split('\n') : [];
  t.strictSame(
    problems.slice(0, 10).map((problem) => problem.slice(0, 300)),
    [],
  );
  t.strictSame([...seen].sort(), [...operations].sort());
  t.ok(calls >= sized(2000, 500), `${calls} calls, seed ${seed}`);
});

/** What is answered where a token says nothing: limits, and an address that is not signed. */
const withoutToken: Readonly<Record<string, number>> = {
  'GET /_f_/:project/options': 200,
  'PUT /_f_/:project/direct/:name/:number': 404,
};

t.test('every route: without a good access token there is nothing', async (t) => {
  for (const route of routeTable()) {
    const [method, pattern] = route.split(' ') as [string, string];
    // files are public by their address unless links are private
    const path = pattern
      .replace(':project', 'everything')
      .replace(':space', 'notes')
      .replace(':name', 'x')
      .replace(':folder', '01a22bd5-8854-7642-81c6-522ddce75960')
      .replace(':rest*', 'x')
      .replace(':field', 'f')
      .replace(':id', 'x');
    for (const token of [
      '',
      'Bearer not-a-token-of-anyone',
      `Basic ${alice}`,
      `Bearer ${alice}x`,
      `Bearer ${alice.slice(1)}`,
    ]) {
      const headers = {
        structure,
        'tus-resumable': '1.0.0',
        'upload-length': '8',
        'upload-offset': '0',
        'x-http-method-override': 'PATCH',
        ...(token === '' ? {} : { authorization: token }),
      };
      const form = 'multipart/form-data; boundary=b';
      const other = pattern.includes('resumable') ? bytesOfUpload : 'application/json';
      const type = pattern.endsWith('upload') ? form : other;
      const response = await fetch(`${sluice.baseUrl}${path}`, {
        method,
        headers: { ...headers, 'content-type': type },
        ...(method === 'POST' ? { body: '{}' } : {}),
      });
      const publicFile = /^GET \/_f_\/:project\/:(?:name|folder\/:rest\*)$/.test(route) && token === '';
      t.equal(
        response.status,
        withoutToken[route] ?? (publicFile ? 404 : 401),
        `${route} with ${token === '' ? 'no token' : token.split(' ')[0]}`,
      );
    }
  }
});

async function uploadAlices(baseUrl: string): Promise<string> {
  const body = new FormData();
  body.set('file', new Blob(['private words']), 'a.txt');
  const headers = { authorization: `Bearer ${alice}` };
  const response = await fetch(`${baseUrl}/_f_/shared/upload`, { method: 'POST', headers, body });
  return ((await response.json()) as { s3Link: string }).s3Link;
}

t.test('files', async (t) => {
  const s3Link = await uploadAlices(sluice.baseUrl);
  const get = (headers: Record<string, string>) => fetch(s3Link, { headers });
  t.equal((await get({ authorization: `Bearer ${bob}` })).status, 404);
  t.equal((await get({ authorization: 'Bearer not-a-token-of-anyone' })).status, 401);
  t.equal(await (await get({ authorization: `Bearer ${alice}` })).text(), 'private words');
  t.equal(
    await (await get({})).text(),
    'private words',
    'the link itself is the permission, unless links are private',
  );
});

t.test('files with FILE_LINKS=private', async (t) => {
  await sluice.stop();
  const strict = await sluice.restart({ FILE_LINKS: 'private' });
  t.teardown(() => strict.stop());
  const s3Link = await uploadAlices(strict.baseUrl);
  t.equal((await fetch(s3Link)).status, 401);
  t.equal((await fetch(s3Link, { headers: { authorization: `Bearer ${bob}` } })).status, 404);
  t.equal((await fetch(s3Link, { headers: { authorization: `Bearer ${alice}` } })).status, 200);

  const ask = (token: string) =>
    fetch(`${s3Link}/link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"expiresIn":60}',
    });
  t.equal((await ask(bob)).status, 404);
  t.equal((await ask('nobody-0123456789')).status, 401);
  const { link } = (await (await ask(alice)).json()) as { link: string };
  t.equal(await (await fetch(link)).text(), 'private words');
  t.equal((await fetch(`${link}x`)).status, 403);
  t.equal((await fetch(link.replace('expires=', 'expires=1'))).status, 403);
});
