/** Who may plan, complete and drop direct uploads: users under rules of files, pages, and those with a link. */
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { removeFiles } from '#gateway/janitor/remove-files.ts';
import { OwnLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { StateStore } from '#gateway/resumable/state-store.ts';
import { DirectClient, type Planned } from '../services/direct-client.ts';
import { serveGatewayOn, testOwner } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import { openRuledFiles, ownRules } from '../services/ruled-files.ts';
import { openStubStore } from '../services/stub-store.ts';
import { testJanitor } from '../services/test-janitor.ts';

const never = new AbortController().signal;
const keys = createConfiguredKeys('a secret of a test, long enough for it');
const content = 'abcdef';
const root = '/_f_/app';

t.test('rules of files', async (t) => {
  const { ask, owned, setRules, ada, bob, page, acting, tokenOf, sluice } = await openRuledFiles(t);
  type Headers = Readonly<Record<string, string>>;
  const plan = (headers: Headers, wanted: object = {}, path = `${root}/direct`) =>
    ask({ path, body: { name: 'a.txt', size: content.length, ...wanted }, headers });
  const planned = async (headers: Headers, path?: string): Promise<Planned> => {
    const answer = await plan(headers, {}, path);
    t.equal(answer.status, 201, answer.text);
    const [part] = answer.json().parts;
    t.equal((await ask({ method: 'PUT', path: part.url, bytes: content })).status, 200);
    return answer.json();
  };
  const at = ({ location }: Planned, more = '') => location.replace(/(?=\?|$)/, more);
  const complete = (upload: Planned, headers: Headers = {}) =>
    ask({ method: 'POST', path: at(upload, '/complete'), headers });
  const code = ({ status, json }: Awaited<ReturnType<typeof ask>>) => `${status} ${json().code}`;

  await t.test('a user completes its own upload, and nobody else does', async (t) => {
    await setRules(ownRules);
    const upload = await planned(page(ada));
    for (const [who, headers] of [
      ['another user', page(bob)],
      ['a visitor', page()],
      ['a server for another user', acting(bob)],
    ] as const) {
      t.equal((await ask({ path: at(upload), headers })).status, 404, who);
      t.equal((await complete(upload, headers)).status, 404, who);
      t.equal((await ask({ method: 'DELETE', path: at(upload), headers })).status, 404, who);
    }
    const done = await complete(upload, page(ada));
    t.equal(done.status, 200, done.text);
    t.notOk('owner' in done.json(), 'no answer has the owner');
    const file = `${root}/${upload.id}`;
    t.equal((await ask({ path: file, headers: page(ada) })).text, content);
    t.equal((await ask({ path: file, headers: page(bob) })).status, 404);
    t.not((await ask({ path: file })).status, 200, 'its links are private');
    for (const headers of [page(bob), page()]) {
      t.equal((await complete(upload, headers)).status, 404, 'nor is the file shown');
      t.equal((await ask({ path: at(upload), headers })).status, 404);
    }
    t.strictSame((await complete(upload, page(ada))).json(), done.json());
    const { s3Link } = done.json();
    t.not((await ask({ path: s3Link })).status, 200);
  });

  await t.test('what may be uploaded', async (t) => {
    await setRules({ ...ownRules, maxBytes: 5, types: ['text/'] });
    t.equal(code(await plan(page(ada))), '413 payload_too_large');
    t.equal(code(await plan(page(ada), { size: 3, contentType: 'image/png' })), '403 not_allowed');
    t.equal((await plan(page(ada), { size: 3 })).status, 201);
    t.equal((await plan(page(), { size: 3 })).status, 403, 'a visitor');
    await setRules(ownRules);
  });

  await t.test('rules that go away between plan and completion', async (t) => {
    const upload = await planned(page(ada));
    const { direct } = (
      await ask({ path: `${root}/upload-link`, body: { expiresIn: 60 }, headers: page(ada) })
    ).json();
    const linked = await planned({}, direct);
    await setRules(null);
    t.equal(code(await complete(upload, page(ada))), '403 not_allowed');
    t.equal(code(await complete(linked)), '403 not_allowed', 'also without a token');
    await setRules({ ...ownRules, upload: { owner: bob.id } });
    t.equal(code(await complete(upload, page(ada))), '403 not_allowed');
    await setRules({ ...ownRules, maxBytes: 5 });
    t.equal(code(await complete(linked)), '413 payload_too_large', 'a limit of today');
    await setRules(ownRules);
    t.equal((await complete(upload, page(ada))).status, 200);
    t.equal((await complete(linked)).status, 200);
    const { files } = (await ask({ path: root, headers: page(ada) })).json();
    t.ok(
      files.some(({ name }: { name: string }) => name === linked.id),
      'the file of the link is of its user',
    );
    const theirs = (await ask({ path: root, headers: page(bob) })).json().files;
    t.strictSame(theirs, []);
  });

  await t.test('grants', async (t) => {
    const reader = { authorization: `Bearer ${await tokenOf('--may', 'files:read')}` };
    const upload = await planned({ authorization: `Bearer ${sluice.token}` });
    t.equal((await plan(reader)).status, 403);
    t.equal((await complete(upload, reader)).status, 403);
    t.equal((await ask({ method: 'DELETE', path: at(upload), headers: reader })).status, 403);
    await owned({ method: 'DELETE', path: at(upload) });
  });
});

async function serveLinks(t: Test) {
  const { store, stub } = await openStubStore(t, { deploymentId: testDeployment });
  const closedAccounts = new Set<string>();
  const uploadLinks = new UploadLinks({
    keys,
    uses: new OwnLinkUses(),
    closed: { has: (id) => closedAccounts.has(id) },
  });
  const gateway = await serveGatewayOn(t, store, { needToken: true, uploadLinks });
  const client = new DirectClient(gateway.baseUrl, { 'test-token': 'good' });
  const link = async (wishes: object): Promise<string> => {
    const { body } = await client.ask('POST', '/_f_/demo/upload-link', { expiresIn: 600, ...wishes });
    return body.direct.replace('http://files.test', '');
  };
  return { ...gateway, store, stub, client, stranger: client.as({}), link, closedAccounts };
}

t.test('an upload link plans, continues and drops direct uploads', async (t) => {
  const { stranger, client, link, rows } = await serveLinks(t);
  const address = await link({ maxBytes: 1000, type: 'text/', times: 2 });
  const plan = (wanted: object = {}) =>
    stranger.ask('POST', address, { name: 'a.txt', size: content.length, ...wanted });
  t.match(await plan({ size: 1001 }), { status: 413 });
  t.match(await plan({ name: 'a.png' }), { status: 403, body: { code: 'link_refused' } });
  t.match(await plan({ size: -1 }), { status: 400 }, 'which are no uses of it');
  const first: Planned = (await plan()).body;
  t.match(first.location, /\?upload=/);
  await stranger.send(first, Buffer.from(content));
  t.match(await stranger.ask('GET', `${first.location}&uploaded=true&parts=1`), {
    status: 200,
    body: { state: 'open', location: first.location, uploaded: [{}], parts: [{}] },
  });
  const dropped: Planned = (await plan()).body;
  t.match(await plan(), { status: 403, body: { code: 'link_refused' } }, 'it has been used');
  t.equal((await stranger.drop(dropped)).status, 204);
  t.equal((await stranger.drop(dropped)).status, 404, 'once');
  const again: Planned = (await plan()).body;
  t.ok(again.id, 'a dropped upload is no use');
  t.match(await plan(), { status: 403 });
  const bare = { location: first.location.replace(/\?.*/, '') };
  t.equal((await stranger.complete(bare)).status, 401, 'without the query');
  const other = { location: again.location.replace(/.*(?=\?)/, bare.location) };
  t.equal((await stranger.complete(other)).status, 403, 'with the one of another upload');
  const done = await stranger.complete(first);
  t.match(done, { status: 200, body: { name: first.id, ownedBy: testOwner } });
  t.strictSame((await client.complete(bare)).body, done.body, 'for the owner of the link, too');
  t.match(await stranger.drop(first), { status: 409 });
  t.match(await plan(), { status: 403 }, 'a file is a use');
  t.equal(rows.size, 1);
});

t.test('an account that is closed between plan and completion', async (t) => {
  const { stranger, client, link, closedAccounts, store, stub, cloudFiles, rows, plans, resumable } =
    await serveLinks(t);
  const linked: Planned = (await stranger.ask('POST', await link({}), { name: 'a.txt', size: 6 })).body;
  await stranger.send(linked, Buffer.from(content));
  const large = await client.plan({ size: 6 * 1024 * 1024, partBytes: 1 });
  await client.put(large.parts[0] as (typeof large.parts)[0], randomBytes(5 * 1024 * 1024));
  const late = await client.plan({ size: 6 });
  closedAccounts.add(testOwner);
  t.match((await stranger.complete(linked)).status, /^40[134]$/);
  t.match((await stranger.drop(linked)).status, /^40[134]$/);
  const states = new StateStore({ store, deploymentId: testDeployment });
  const remove = removeFiles({ store, cloudFiles, states, resumable, plans, deploymentId: testDeployment });
  await remove(testOwner, never, false);
  await remove(testOwner, never, true);
  t.strictSame(stub.openUploads(), []);
  // the address is still good
  await client.send(late, Buffer.from(content));
  await testJanitor({ store, cloudFiles, plans, staleAfter: 1000, grace: 0 }).run({ dryRun: false });
  t.equal(rows.size, 0, 'what comes late is no file');
  stub.age(3_600_000);
  for (const _ of [1, 2])
    await testJanitor({ store, cloudFiles, plans, staleAfter: 1000, grace: 0 }).run({ dryRun: false });
  t.strictSame(
    stub.objects().map(({ key }) => key),
    [],
  );
});
