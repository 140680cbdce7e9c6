/** Uploads and reads under rules of files, and attacks on them. */
import t from 'tap';
import { type Answer, openRuledFiles, ownRules } from '../services/ruled-files.ts';

const { ask, asOwner, owned, userOf, dropUser, setRules, ada, bob, page, acting } = await openRuledFiles(t);
const tus = { 'tus-resumable': '1.0.0' };
const chunkType = { 'content-type': 'application/offset+octet-stream' };
const root = '/_f_/app';

const form = (content: string, name: string, type: string): FormData => {
  const body = new FormData();
  body.set('file', new Blob([content], { type }), name);
  return body;
};
const put = (name: string, bytes: string, headers: Readonly<Record<string, string>>) =>
  ask({ method: 'PUT', path: `${root}/${name}`, bytes, headers });
const begin = (length: number, headers: Readonly<Record<string, string>>, path = `${root}/resumable`) =>
  ask({ method: 'POST', path, headers: { ...headers, ...tus, 'upload-length': `${length}` } });
const send = (path: string, offset: number, bytes: string, headers: Readonly<Record<string, string>>) =>
  ask({
    method: 'PATCH',
    path,
    bytes,
    headers: { ...headers, ...tus, ...chunkType, 'upload-offset': `${offset}`, accept: 'application/json' },
  });
const namesOf = async (headers: Readonly<Record<string, string>>, query = ''): Promise<string[]> => {
  const { files } = (await ask({ path: `${root}?${query}`, headers })).json();
  return files.map(({ originalName }: { originalName: string }) => originalName).sort();
};
const locationOf = ({ headers }: Answer): string => headers.get('location') as string;
const code = (answer: Answer): string =>
  `${answer.status} ${answer.json().error?.code ?? answer.json().code}`;

t.test('every way to upload records the user', async (t) => {
  await setRules(ownRules);
  const eve = await userOf('app', 'users', 'eve');
  const headers = page(eve);
  t.equal(
    (await ask({ path: `${root}/upload`, bytes: form('x', 'form.txt', 'text/plain'), headers })).status,
    200,
  );
  t.equal((await put('put.txt', 'x', headers)).status, 200);
  const began = await begin(3, { ...headers, 'upload-metadata': `filename ${btoa('tus.txt')}` });
  t.equal(began.status, 201);
  t.equal((await send(locationOf(began), 0, 'abc', headers)).status, 200);
  const {
    form: formLink,
    resumable,
    put: putLink,
  } = (await ask({ path: `${root}/upload-link`, body: { expiresIn: 60 }, headers })).json();
  t.equal((await ask({ path: formLink, bytes: form('x', 'linked.txt', 'text/plain') })).status, 200);
  t.equal(
    (await ask({ method: 'PUT', path: putLink.replace('{name}', 'put-linked.txt'), bytes: 'x' })).status,
    200,
  );
  const linked = await begin(3, { 'upload-metadata': `filename ${btoa('tus-linked.txt')}` }, resumable);
  t.equal((await send(locationOf(linked), 0, 'abc', {})).status, 200);
  await owned({ method: 'PUT', path: `${root}/of-no-user.txt`, bytes: 'x' });
  const all = ['form.txt', 'linked.txt', 'put-linked.txt', 'put.txt', 'tus-linked.txt', 'tus.txt'];
  t.strictSame(await namesOf(headers), all);
  t.strictSame(await namesOf(acting(eve)), all);
  t.strictSame(await namesOf(page(bob)), []);
  t.strictSame(await namesOf(page()), []);
  t.ok((await namesOf(asOwner)).includes('of-no-user.txt'), 'other tokens are not bound');
  const [file] = (await ask({ path: `${root}?name=form.txt`, headers })).json().files;
  t.notOk('owner' in file, 'no answer has the owner');

  await dropUser(eve);
  const name: string = file.name;
  t.equal((await ask({ path: `${root}/${name}`, headers })).status, 401, 'the user is gone');
  t.equal(
    (await ask({ path: `${root}/${name}`, headers: page(bob) })).status,
    404,
    'and nobody inherits its files',
  );
  t.equal(code(await ask({ path: formLink, bytes: form('x', 'late.txt', 'text/plain') })), '403 not_allowed');
});

t.test('what uploads may be', async (t) => {
  const rules = { ...ownRules, upload: { size: { gte: 2 }, originalName: { endsWith: '.png' } } };
  await setRules({ ...rules, maxBytes: 5, types: ['image/'] });
  const png = { ...page(ada), 'content-type': 'image/png' };
  t.equal((await put('a.png', 'abc', png)).status, 200);
  t.equal(code(await put('a.png', 'abcdef', png)), '413 payload_too_large');
  t.equal(code(await put('a.png', 'a', png)), '403 not_allowed', 'size');
  t.equal(code(await put('a.txt', 'abc', png)), '403 not_allowed', 'name');
  t.equal(code(await put('a.png', 'abc', { ...page(ada), 'content-type': 'text/html' })), '403 not_allowed');
  t.equal((await put('a.png', '<script>', { ...png, 'content-type': 'image/png' })).status, 413);
  t.equal(code(await put('a.png', '<b>', png)), '403 not_allowed', 'bytes that are HTML are no image');
  const sent = async (content: string, name = 'a.png', type = 'image/png') =>
    code(await ask({ path: `${root}/upload`, bytes: form(content, name, type), headers: page(ada) }));
  t.equal(await sent('abcdef'), '413 payload_too_large', 'as its bytes come');
  t.equal(await sent('a'), '403 not_allowed', 'a form tells the size at its end');
  t.equal(await sent('abc', 'a.html', 'text/html'), '403 not_allowed');
  const metadata = { 'upload-metadata': `filename ${btoa('a.png')},filetype ${btoa('image/png')}` };
  t.equal(code(await begin(6, { ...page(ada), ...metadata })), '413 payload_too_large');
  t.equal(code(await begin(1, { ...page(ada), ...metadata })), '403 not_allowed');
  t.equal(code(await begin(3, page(ada))), '403 not_allowed', 'without a type');
  const deferred = await ask({
    method: 'POST',
    path: `${root}/resumable`,
    headers: { ...page(ada), ...metadata, ...tus, 'upload-defer-length': '1' },
  });
  t.equal(deferred.status, 201);
  t.equal(code(await send(locationOf(deferred), 0, 'abcdef', page(ada))), '413 payload_too_large');
  t.equal(
    code(await send(locationOf(deferred), 0, 'a', { ...page(ada), 'upload-length': '1' })),
    '403 not_allowed',
  );
  const partial = { ...page(ada), ...metadata, 'upload-concat': 'partial' };
  t.equal(code(await begin(3, partial)), '400 invalid_header');
  t.equal(code(await put('x?createdAt=2026-01-01T00:00:00.000Z', 'abc', png)).slice(0, 3), '400');
});

t.test('a visitor is asked to log in where that helps', async (t) => {
  const visitor = { ...page(), 'content-type': 'text/plain' };
  const refused = async (upload: unknown) => {
    await setRules({ upload });
    const answer = await put('a.txt', 'abc', visitor);
    t.equal(answer.status, 403);
    return answer.json().error[0];
  };
  const words = "he rules of the project's files do not allow this file";
  t.equal(await refused({ owner: '$user.id' }), `Log in to upload: t${words}`);
  t.equal(await refused({ owner: '$user.id', size: { gt: 3 } }), `T${words}`, 'a user could not either');
  t.equal(await refused({ $or: [{ originalName: 'b.txt' }, { size: 1 }] }), `T${words}`);
});

t.test('rules that go away while an upload is under way', async (t) => {
  await setRules(ownRules);
  const began = await begin(6, page(ada));
  t.equal((await send(locationOf(began), 0, 'abc', page(ada))).status, 204);
  const { resumable } = (
    await ask({ path: `${root}/upload-link`, body: { expiresIn: 60 }, headers: page(ada) })
  ).json();
  const linked = await begin(6, {}, resumable);
  t.equal((await send(locationOf(linked), 0, 'abc', {})).status, 204);
  await setRules(null);
  t.equal(code(await send(locationOf(began), 3, 'def', page(ada))), '403 not_allowed');
  t.equal(code(await send(locationOf(linked), 3, 'def', {})), '403 not_allowed', 'also without a token');
  t.equal(code(await ask({ path: root, headers: page(ada) })), '403 not_allowed');
  const nowhere = await ask({ path: '/_f_/nowhere', headers: page(ada) });
  t.equal(code(nowhere), '403 not_allowed', 'like a project that is not there');
  await setRules({ ...ownRules, upload: { owner: bob.id } });
  t.equal(code(await send(locationOf(began), 3, 'def', page(ada))), '403 not_allowed');
  await setRules({ ...ownRules, maxBytes: 5 });
  t.equal(code(await send(locationOf(linked), 3, 'def', {})), '413 payload_too_large', 'a limit of today');
  await setRules(ownRules);
  t.equal((await send(locationOf(began), 3, 'def', page(ada))).status, 200);
  t.equal((await send(locationOf(linked), 3, 'def', {})).status, 200);
});

t.test('what a list tells', async (t) => {
  await setRules({ ...ownRules, list: { size: { lt: 3 }, owner: { exists: true } }, read: true });
  for (const [user, content] of [
    [ada, 'ab'],
    [bob, 'abcd'],
    [bob, 'b'],
  ] as const)
    await owned({
      method: 'PUT',
      path: `${root}/side-${content}.txt`,
      bytes: content,
      headers: acting(user),
    });
  await owned({ method: 'PUT', path: `${root}/side-c.txt`, bytes: 'c' });
  const list = async (query: string) =>
    (await ask({ path: `${root}?name=side-&${query}`, headers: page() })).json();
  t.strictSame(await namesOf(page(), 'name=side-'), ['side-ab.txt', 'side-b.txt']);
  t.equal((await list('count=true&limit=1')).count, 2);
  const first = await list('limit=1');
  const second = await list(`limit=1&after=${first.next}`);
  t.equal(second.next, null, 'no page for files that are not shown');
  t.match(
    [first, second],
    [{ files: [{ originalName: 'side-b.txt' }] }, { files: [{ originalName: 'side-ab.txt' }] }],
  );
});

t.test('keys and preconditions tell nothing of other users', async (t) => {
  await setRules(ownRules);
  const keyed = (headers: Readonly<Record<string, string>>) =>
    put('keyed.txt', 'x', { ...headers, 'idempotency-key': 'the same' });
  const [ofAda, ofBob, again] = [await keyed(page(ada)), await keyed(page(bob)), await keyed(page(ada))];
  t.not(ofBob.json().name, ofAda.json().name);
  t.equal(again.json().name, ofAda.json().name);
  t.equal((await put(ofAda.json().name, 'x', { ...page(bob), 'if-none-match': '*' })).status, 200);
  t.equal((await put(ofAda.json().name, 'x', { ...page(ada), 'if-none-match': '*' })).status, 412);
});

t.test('caches do not keep what rules show', async (t) => {
  await setRules(ownRules);
  const { name } = (await put('cached.txt', 'x', page(ada))).json();
  for (let time = 0; time < 2; time++) {
    const { status, headers } = await ask({ path: `${root}/${name}`, headers: page(ada) });
    t.equal(status, 200);
    t.match(headers.get('cache-control'), /^private, no-cache/);
    t.equal(
      (await ask({ path: `${root}/${name}`, headers: page(bob) })).status,
      404,
      'also as kept in memory',
    );
  }
  const { link } = (
    await ask({ path: `${root}/${name}/link`, body: { expiresIn: 60 }, headers: page(ada) })
  ).json();
  t.equal((await ask({ path: link })).text, 'x', 'a link opens it for anybody');
});

t.test('rules are tried', async (t) => {
  await setRules(null);
  const attempt = (body: unknown) => ask({ path: '/_projects_/app/files/rules/try', body, headers: asOwner });
  t.equal(code(await attempt({ operation: 'read' })), '400 invalid_rules', 'there are none');
  await setRules({ ...ownRules, maxBytes: 5, types: ['image/'] });
  const png = { 'content-type': 'image/png' };
  const [mine, theirs] = [
    (
      await owned({
        method: 'PUT',
        path: `${root}/mine.png`,
        bytes: 'x',
        headers: { ...acting(ada), ...png },
      })
    ).json(),
    (
      await owned({
        method: 'PUT',
        path: `${root}/theirs.png`,
        bytes: 'x',
        headers: { ...acting(bob), ...png },
      })
    ).json(),
  ];
  const names = [mine.name, theirs.name, 'nothing'];
  t.match((await attempt({ operation: 'delete', user: ada.id, names })).json(), {
    user: ada.id,
    files: [
      { name: mine.name, allowed: true, why: [/^read: owner is/, /^delete: owner is/] },
      { name: theirs.name, allowed: false, why: [/the rule says = /, /the rule says/] },
      { name: 'nothing', allowed: false, why: ['There is no such file'] },
    ],
  });
  const newest = (await attempt({ operation: 'list', user: null })).json().files;
  t.match(newest[0], { name: theirs.name, allowed: false });
  t.strictSame(newest[0].why, ['list: owner = $user.id: nobody is logged in']);
  const [removed] = (await attempt({ operation: 'delete', user: null, names: [mine.name] })).json().files;
  t.strictSame(removed.why, [
    'read: owner = $user.id: nobody is logged in',
    'delete: owner = $user.id: nobody is logged in',
  ]);
  const file = { originalName: 'a.html', contentType: 'text/html', size: 9 };
  const { files } = (await attempt({ operation: 'upload', user: ada.id, file })).json();
  t.match(files, [{ allowed: false, why: [/maxBytes is 5/, /of type image/, /^upload: owner is/] }]);
  t.match((await attempt({ operation: 'read', rules: { read: true }, names: [theirs.name] })).json().files, [
    { allowed: true },
  ]);
  t.equal(code(await attempt({ operation: 'upload' })), '400 invalid_body');
  t.equal(code(await attempt({ operation: 'read', user: 'nobody' })), '400 no_match');
  const summary = (await owned({ path: '/_projects_/app/files/rules' })).json();
  t.match(summary, {
    rules: { maxBytes: 5 },
    warnings: [],
    stranger: { read: 'none', list: 'none' },
    user: { read: { where: 'owner = $user.id' } },
  });
  t.match(
    (await setRules({ upload: true, delete: true, users: 'nobody', list: { owner: '$user.id' } })).json()
      .warnings,
    [
      'Everybody can upload files, without logging in',
      'Everybody can delete all files, without logging in',
      'No file can be deleted: nobody can read one',
      'The record space of users (nobody) does not exist: nobody can log in',
    ],
  );
});
