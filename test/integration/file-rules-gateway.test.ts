/** Rules of files in a gateway of its own, which has no records of users. */
import t from 'tap';
import { loginSecret, openRuledFiles } from '../services/ruled-files.ts';
import { startSluice } from '../services/start-sluice.ts';

t.test('a gateway of its own applies stored rules, and trusts login tokens', async (t) => {
  const { sluice, ask, owned, dropUser, ada, bob, page, acting } = await openRuledFiles(t);
  const file = (
    await owned({ method: 'PUT', path: '/_f_/app/a.csv', bytes: 'a\n1\n', headers: acting(ada) })
  ).json();
  await dropUser(ada);
  const path = `/_f_/app/${file.name}`;
  t.equal((await ask({ path, headers: page(ada) })).status, 401, 'the process has the records of users');
  await sluice.stop();
  const gateway = await startSluice({
    dataDir: sluice.dataDir,
    script: 'gateway/main.ts',
    env: { LOGIN_TOKEN_SECRET: loginSecret, FILE_LINKS: 'private' },
  });
  t.teardown(() => gateway.stop());
  const at = (headers: Readonly<Record<string, string>>) => ask({ path: gateway.baseUrl + path, headers });
  t.equal((await at(page(ada))).text, 'a\n1\n', 'until the token expires');
  t.equal((await at(page(bob))).status, 404);
  t.equal((await at(page())).status, 404);
  t.equal((await at({})).status, 401);
});
