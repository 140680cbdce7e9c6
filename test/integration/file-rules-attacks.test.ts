/** Attacks on files of other users that are no single request of the matrix: side channels, lists, types, deleted owners. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { type Answer, openRuledFiles, ownRules } from '../services/ruled-files.ts';

const { ask, owned, tokenOf, userOf, dropUser, setRules, ada, bob, page, acting } = await openRuledFiles(t);
const root = '/_f_/app';
const put = async (name: string, bytes: string, headers: Readonly<Record<string, string>>) =>
  (await owned({ method: 'PUT', path: `${root}/${name}`, bytes, headers })).json();
const list = (query: string, headers: Readonly<Record<string, string>>) =>
  ask({ path: `${root}?${query}`, headers });
/** Without what differs from one answer to the next. */
const shown = ({ status, text, headers }: Answer): readonly unknown[] => [
  status,
  text.replaceAll(/"(?:timestamp|requestId|path)":"[^"]*"/g, ''),
  ['content-type', 'etag', 'last-modified', 'accept-ranges', 'content-range'].map((name) =>
    headers.get(name),
  ),
];

t.test('counts, sizes and digests of files that are not listed', async (t) => {
  const secret = 'salary of ada: 100';
  const file = await put('salary.txt', secret, { ...acting(ada), 'content-type': 'text/plain' });
  await put('bobs.txt', 'x', acting(bob));
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  const pairs = [
    [`sha256=${digest(secret)}`, `sha256=${digest('salary of ada: 101')}`],
    ['name=salary&count=true', 'name=celery&count=true'],
    ['type=text/plain&name=salary&count=true', 'type=text/none&name=salary&count=true'],
    [`name=${file.name}&count=true&limit=1`, 'name=nothing&count=true&limit=1'],
    ['name=salary&sort=name&order=asc&limit=1', 'name=celery&sort=name&order=asc&limit=1'],
  ] as const;
  for (const [exists, doesNot] of pairs)
    for (const headers of [page(bob), page(), acting(bob)])
      t.strictSame(shown(await list(exists, headers)), shown(await list(doesNot, headers)), exists);
  t.equal((await list('count=true', page(bob))).json().count, 1, 'of its own');
  const absent = `00000000-0000-4000-8000-000000000000_salary.txt`;
  for (const method of ['HEAD', 'GET'])
    for (const more of [{}, { range: 'bytes=1000-' }, { 'if-match': '"x"' }, { 'if-none-match': '*' }]) {
      const [there, nowhere] = await Promise.all(
        [file.name, absent].map((name: string) =>
          ask({ method, path: `${root}/${name}`, headers: { ...page(bob), ...more } }),
        ),
      );
      t.strictSame(
        shown(there as Answer)
          .join()
          .replaceAll(file.name, ''),
        shown(nowhere as Answer)
          .join()
          .replaceAll(absent, ''),
        `${method} ${JSON.stringify(more)}`,
      );
    }
});

t.test('a page of another user’s list', async (t) => {
  for (const name of ['1', '2', '3']) await put(`page-${name}.txt`, 'x', acting(ada));
  const first = (await list('name=page-&limit=1', page(ada))).json();
  t.ok(first.next);
  const stolen = (await list(`name=page-&limit=10&count=true&after=${first.next}`, page(bob))).json();
  t.match(stolen, { files: [], next: null, count: 0 });
  const { pathname } = new URL(first.files[0].s3Link);
  t.equal((await ask({ path: pathname })).status, 401, 'an address in a list opens nothing by itself');
  t.equal((await ask({ path: pathname, headers: page(bob) })).status, 404);
  t.equal((await ask({ path: pathname, headers: page(ada) })).status, 200);
});

t.test('a file by another way to write its name', async (t) => {
  const { name } = await put('folder.txt', 'secret', acting(ada));
  await owned({ method: 'PUT', path: '/_projects_/app2/files/rules', body: { ...ownRules, read: true } });
  for (const path of [
    `/_f_/app2/${name}`,
    `/_f_/app2/..%2fapp%2f${name}`,
    `${root}/x%2f..%2f${name}`,
    `${root}//${name}`,
    `${root}/${name}/`,
    `${root}/${name}%00`,
    `${root}/${name.toUpperCase()}`,
    `${root}/resumable/${name}`,
  ]) {
    const { status, text } = await ask({ path, headers: page(bob) });
    t.ok(status >= 400 && status < 500, `${path}: ${status}`);
    t.notMatch(text, /secret/, path);
  }
});

t.test('files of a user who was deleted', async (t) => {
  const eve = await userOf('app', 'users', 'eve');
  const { name } = await put('eves.csv', 'a\n1\n', acting(eve));
  await dropUser(eve);
  const again = await userOf('app', 'users', 'eve');
  t.not(again.id, eve.id);
  for (const headers of [page(again), page(bob), acting(again)]) {
    t.equal((await ask({ path: `${root}/${name}`, headers })).status, 404);
    t.equal((await ask({ method: 'DELETE', path: `${root}/${name}`, headers })).status, 404);
    t.equal((await ask({ path: `${root}/${name}/link`, body: { expiresIn: 60 }, headers })).status, 404);
    t.equal((await ask({ method: 'QUERY', path: `${root}/${name}`, body: {}, headers })).status, 404);
    t.strictSame((await list('name=eves', headers)).json().files, []);
  }
  t.equal((await ask({ path: `${root}/${name}`, headers: page(eve) })).status, 401);
  t.equal((await owned({ path: `${root}/${name}` })).text, 'a\n1\n', 'its account still has it');
});

t.test('HTML and scripts that are sent as images', async (t) => {
  await setRules({ ...ownRules, read: true, types: ['image/'] });
  const html = '<script>alert(1)</script>';
  const send = (type: string, name = 'a.png') =>
    ask({
      method: 'PUT',
      path: `${root}/${name}`,
      bytes: html,
      headers: { ...page(bob), 'content-type': type },
    });
  for (const type of ['text/html', 'TEXT/HTML', 'text/html; x=image/', 'application/xhtml+xml', 'imagex/png'])
    t.equal((await send(type)).status, 403, type);
  for (const type of ['image/png', 'image/png; charset=utf-8', 'image/png, text/html', 'image/svg+xml']) {
    const sent = await send(type, 'page.html');
    if (sent.status >= 400) {
      t.ok(sent.status < 500, `${type}: ${sent.status}`);
      continue;
    }
    const { headers } = await ask({ path: `${root}/${sent.json().name}`, headers: page() });
    t.match(headers.get('content-type'), /^(?:image\/png|application\/octet-stream)$/, type);
    t.equal(headers.get('x-content-type-options'), 'nosniff', type);
    t.match(headers.get('content-security-policy'), /default-src 'none'.*sandbox|sandbox/, type);
  }
  await setRules(ownRules);
});

t.test('a token for some record spaces does not open the files of their project', async (t) => {
  const limited = await tokenOf('--may', 'structure', '--space', 'posts');
  const headers = { authorization: `Bearer ${limited}` };
  const path = '/_projects_/app/files/rules';
  const everything = { upload: true, read: true, list: true, delete: true };
  for (const call of [
    { method: 'PUT', path, body: everything },
    { path },
    { path: `${path}/try`, body: { operation: 'list', rules: everything } },
  ])
    t.match(await ask({ ...call, headers }), { status: 403, text: /not_granted/ }, call.path);
  t.strictSame((await owned({ path })).json().rules, ownRules);
});
