/** Rules of files in two processes that share ClickHouse, Redis and S3: what one answers, the other obeys. */
import t from 'tap';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { loginSecret, openRuledFiles, ownRules } from '../services/ruled-files.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const [clickhouse, redis, stub] = await Promise.all([
  startClickhouse(),
  startRestrictedRedis(),
  startS3Stub(),
]);
t.teardown(async () => {
  await stub.close();
  await redis.stop();
  await clickhouse.close();
});
const env = {
  ...stubSettings(stub),
  CLICKHOUSE_URL: clickhouse.url,
  CLICKHOUSE_DATABASE: 'ruled',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
  LOGIN_TOKEN_SECRET: loginSecret,
  FILE_LINKS: 'private',
};
const { ask, owned, userOf, dropUser, setRules, ada, bob, page, acting } = await openRuledFiles(t, env);
const second = await sluiceFor(t, { env });
const gateway = await sluiceFor(t, { env, script: 'gateway/main.ts' });
const others = { 'a second process': second, 'a gateway of its own': gateway };

for (const [what, { baseUrl }] of Object.entries(others)) {
  t.test(`a change of the rules applies in ${what} once it is answered`, async (t) => {
    const put = await owned({ method: 'PUT', path: '/_f_/app/a.txt', bytes: 'x', headers: acting(ada) });
    const path = `${baseUrl}/_f_/app/${put.json().name}`;
    const statusFor = async (user?: typeof ada) => (await ask({ path, headers: page(user) })).status;
    for (let time = 0; time < 3; time++) {
      await setRules(ownRules);
      t.strictSame([await statusFor(ada), await statusFor(bob), await statusFor()], [200, 404, 404]);
      await setRules({ ...ownRules, read: true });
      t.strictSame([await statusFor(ada), await statusFor(bob), await statusFor()], [200, 200, 200]);
      await setRules(null);
      t.strictSame([await statusFor(ada), await statusFor(bob), await statusFor()], [403, 403, 403]);
    }
    await setRules(ownRules);
  });

  t.test(`an upload that is begun in one process goes on in ${what}, for its user alone`, async (t) => {
    const tus = { 'tus-resumable': '1.0.0' };
    const began = await ask({
      method: 'POST',
      path: '/_f_/app/resumable',
      headers: { ...page(ada), ...tus, 'upload-length': '6', 'upload-metadata': `filename ${btoa('t.txt')}` },
    });
    t.equal(began.status, 201);
    const path = baseUrl + began.headers.get('location');
    const chunk = { 'content-type': 'application/offset+octet-stream' };
    const send = (offset: number, bytes: string, headers: Readonly<Record<string, string>>) =>
      ask({
        method: 'PATCH',
        path,
        bytes,
        headers: { ...headers, ...tus, ...chunk, 'upload-offset': `${offset}`, accept: 'application/json' },
      });
    t.equal((await send(0, 'abc', page(ada))).status, 204);
    for (const [who, headers] of [
      ['another user', page(bob)],
      ['a stranger', page()],
      ['a server for another user', acting(bob)],
    ] as const) {
      t.equal((await send(3, 'evl', headers)).status, 404, who);
      t.equal((await ask({ method: 'HEAD', path, headers: { ...headers, ...tus } })).status, 404, who);
      t.equal((await ask({ method: 'DELETE', path, headers: { ...headers, ...tus } })).status, 404, who);
    }
    const done = await send(3, 'def', page(ada));
    t.equal(done.status, 200, done.text);
    const file = `/_f_/app/${done.json().name}`;
    t.equal((await ask({ path: file, headers: page(ada) })).text, 'abcdef');
    t.equal((await ask({ path: file, headers: page(bob) })).status, 404);
  });
}

t.test('a user who is dropped in one process is a user in the other no more', async (t) => {
  const eve = await userOf('app', 'users', 'eve');
  const list = async () => (await ask({ path: `${second.baseUrl}/_f_/app`, headers: page(eve) })).status;
  t.strictSame([await list(), await list()], [200, 200]);
  await dropUser(eve);
  t.equal(await list(), 401);
});
