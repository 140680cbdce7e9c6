/** `sluice rules --check`, as it runs in CI. */
import t from 'tap';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

t.test('says who may do what, and fails where more is open than is meant', async (t) => {
  const sluice = await sluiceFor(t);
  const send = async (method: string, path: string, body: unknown): Promise<void> => {
    const response = await fetch(sluice.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${sluice.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    t.equal(response.status, 200, await response.text());
  };
  for (const space of ['posts', 'notes', 'plain']) {
    const structure = structureOf('app', space, fieldsOf('text TEXT, owner TEXT'));
    await send('POST', `/app/${space}/set-structure`, JSON.parse(structure));
  }
  const own = { owner: '$user.id' };
  await send('PUT', '/_projects_/app/spaces/posts/rules', { find: true });
  await send('PUT', '/_projects_/app/spaces/notes/rules', { find: own, insert: own, set: own });
  const env = { SLUICE_URL: sluice.baseUrl, SLUICE_TOKEN: sluice.token };
  const check = (...options: string[]) => runToEnd('cli/rules.ts', ['--check', ...options], env);
  const { status, stdout, stderr } = await check('--open', 'notes:find');
  t.equal(status, 1, stderr);
  t.match(stdout, /^app\/notes\n {2}find: a stranger none; a user those with owner = \$user.id\n/m);
  t.match(stdout, /^ {2}! The record space of users \(users\) does not exist/m);
  t.match(stdout, /^app\/posts\n {2}find: a stranger all; a user all\n/m);
  t.match(stdout, /^ {2}! Everybody can find all records, without logging in\n/m);
  t.match(stdout, /^2 record spaces with rules, 2 warnings\n$/m);
  await send(
    'POST',
    '/app/users/set-structure',
    JSON.parse(structureOf('app', 'users', fieldsOf('name TEXT'))),
  );
  t.match(await check('--open', 'posts:find'), {
    status: 0,
    stdout: /2 record spaces with rules, 0 warnings/,
  });
  await send('PUT', '/_projects_/app/files/rules', { read: true, list: own });
  const open = await check('--open', 'posts:find');
  t.equal(open.status, 1);
  t.match(
    open.stdout,
    /^app, files\n {2}upload: a stranger none; a user none\n {2}read: a stranger all; a user all\n/m,
  );
  t.match(open.stdout, /^ {2}! Everybody can read all files, without logging in\n/m);
  t.match(open.stdout, /^2 record spaces with rules, 1 project with rules of files, 1 warning\n$/m);
  t.match(await check('--open', 'posts:find', '--open', 'files:read'), { status: 0 });
  t.match(await check('--project', 'none'), { status: 1, stderr: /404/ });
  t.match(await runToEnd('cli/rules.ts', [], { ...env, SLUICE_TOKEN: '' }), {
    status: 1,
    stderr: /SLUICE_TOKEN is missing/,
  });
  t.match(await runToEnd('cli/rules.ts', [], { ...env, SLUICE_TOKEN: 'none' }), { status: 1, stderr: /401/ });
});
