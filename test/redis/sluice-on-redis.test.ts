import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { certificateFor } from '../services/certificate.ts';
import { freePorts } from '../services/free-port.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { redisArguments, redisTlsOptions } from '../services/redis-tls.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { removeData, sluiceFor, startSluice } from '../services/start-sluice.ts';

const password = 'hunter2-never-told';
const server = await startRedis({ args: ['--requirepass', password], password });
t.teardown(() => server.stop());
const users = structureOf('p', 'users', fieldsOf('email TEXT unique, other TEXT'));
const notes = structureOf('p', 'notes', fieldsOf('text TEXT'));

t.test('with REDIS_URL and no Redis a server is ready, and refuses unique values alone', async (t) => {
  const sluice = await sluiceFor(t, { env: { REDIS_URL: server.url } });
  const insert = (space: string, structure: string, body: object) =>
    call({ ...sluice, path: `/p/${space}/_single_`, structure, body });
  const email = (value: string) => insert('users', users, { email: value });
  t.equal((await email('a')).status, 200, 'a new store needs no wait');
  t.match(await email('a'), { status: 400, body: { code: 'not_unique' } });

  await server.kill();
  t.match(await email('b'), {
    status: 503,
    body: {
      statusCode: 503,
      code: 'unavailable',
      error: ['Unique values, and Idempotency-Keys, can not be reserved at the moment; try again'],
    },
  });
  t.equal((await insert('users', users, { other: 'x' })).status, 200, 'a record without a value');
  t.equal((await insert('notes', notes, { text: 'x' })).status, 200);
  t.equal((await call({ ...sluice, path: '/p/users?email=a', structure: users })).body.length, 1);
  t.equal((await fetch(`${sluice.baseUrl}/readyz`)).status, 200);

  await server.start();
  let answer = await email('b');
  // until it is connected; then it waits until lost reservations would be over
  while (answer.body.code === 'unavailable') {
    await sleep(50);
    answer = await email('b');
  }
  t.ok(answer.status === 200 || answer.body.code === 'overloaded', JSON.stringify(answer.body));
  t.equal(await sluice.stop(), 0);
  t.match(sluice.stderr(), /Redis is away/);
  t.match(sluice.stderr(), /Redis is back/);
  t.notMatch(sluice.stdout() + sluice.stderr(), /hunter2/);
});

t.test('a server starts without Redis, and with a wrong password, and tells neither', async (t) => {
  const wrong = server.url.replace(password, 'hunter2-wrong');
  const sluice = await sluiceFor(t, { env: { REDIS_URL: wrong } });
  t.match(await call({ ...sluice, path: '/p/users', structure: users, body: [{ email: 'a' }] }), {
    status: 503,
  });
  t.equal((await call({ ...sluice, path: '/p/notes', structure: notes, body: [{ text: 'a' }] })).status, 200);
  t.equal(await sluice.stop(), 0);
  t.match(sluice.stderr(), /WRONGPASS/);
  t.notMatch(sluice.stdout() + sluice.stderr(), /hunter2/);
});

t.test('a bad REDIS_URL stops the start, and is not repeated', async (t) => {
  const { message } = await rejectionOf(startSluice({ env: { REDIS_URL: 'http://:hunter2@redis' } }));
  t.match(message, /REDIS_URL should be/);
  t.notMatch(message, /hunter2/);
});

t.test('over TLS, when the certificate is trusted, and not at all when it is not', async (t) => {
  const certificate = await certificateFor(t, 'DNS:localhost');
  const port = await freePorts(1);
  const tls = await startRedis({ args: redisArguments(redisTlsOptions(port, certificate)) });
  t.teardown(() => tls.stop());
  const REDIS_URL = `rediss://localhost:${port}/3`;
  for (const [env, status] of [
    [{ NODE_EXTRA_CA_CERTS: certificate.certFile }, 200],
    [{}, 503],
  ] as const) {
    const sluice = await startSluice({ env: { REDIS_URL, ...env } });
    t.teardown(() => removeData(sluice));
    const answer = await call({ ...sluice, path: '/p/users', structure: users, body: [{ email: 'a' }] });
    t.equal(answer.status, status, JSON.stringify(answer.body));
    t.equal(await sluice.stop(), 0);
    if (status === 503) t.match(sluice.stderr(), /self-signed certificate/);
  }
  t.match(await tls.command('INFO', 'keyspace'), /db3:keys=1/);
});
