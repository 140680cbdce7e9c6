/** Idempotency-Keys between processes that share ClickHouse and Redis. */
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { redisLocks } from '#coordination/redis/process-lock.ts';
import { UploadKeys } from '#gateway/access/upload-keys.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { queryHarnessFor } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';

const ada = { userId: 'ada' };
const eve = { userId: 'eve' };
const quick = { connect: 1000, command: 200, backoff: 50 };
const server = await startRedis();
t.teardown(() => server.stop());

t.test('of one key in two gateways one stores its file', async (t) => {
  const log = silentLog();
  const gateway = async () => {
    const redis = await openRedis(server.config, log, quick);
    t.teardown(() => redis.close());
    return new UploadKeys({
      cloudFiles: { findByPrefixes: async () => [] },
      locks: redisLocks({ redis, log }),
    });
  };
  const [one, two] = [await gateway(), await gateway()];
  const request = fakeRequest({ headers: { 'idempotency-key': 'k' } });
  const busy = { status: 409, code: 'idempotency_key_in_use' };
  let over: () => void = () => {};
  const first = one.use(request, ada, () => new Promise<void>((resolve) => (over = resolve)));
  const held = async (): Promise<boolean> => `${await server.command('KEYS', '*upload:*')}` !== '';
  while (!(await held()));
  await t.rejects(
    two.use(request, ada, async () => {}),
    busy,
  );
  await t.rejects(
    one.use(request, ada, async () => {}),
    busy,
  );
  t.equal(await two.use(request, eve, async () => 'hers'), 'hers');
  over();
  await first;
  while (await held());
  t.equal(await two.use(request, ada, async (upload) => upload?.id[14]), '8');
  await server.kill();
  await t.rejects(
    two.use(request, ada, async () => {}),
    { status: 503, code: 'unavailable' },
  );
  t.equal(await two.use(fakeRequest(), ada, async (upload) => upload), null, 'others go on');
  await server.start();
});

t.test('of one key in two query processes one stores its records', async (t) => {
  const log = silentLog();
  // no server is killed here: commands have the time that a busy machine takes
  const redis = await openRedis(server.config, log);
  t.teardown(() => redis.close());
  const harness = await queryHarnessFor(t, {
    singleWriter: false,
    reservations: () => new RedisReservations({ redis, log, everUsed: async () => false }),
  });
  const processes = [harness, harness.another()];
  const structure = structureOf('p', 'notes', fieldsOf('text TEXT'));
  const insert = (index: number, key: string) =>
    (processes[index % 2] as typeof harness).call({
      path: '/p/notes',
      structure,
      body: [{ text: key }, { text: 'b' }],
      headers: { 'idempotency-key': key },
    });
  await insert(0, 'the space is there');
  const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => insert(index, 'k')));
  t.strictSame(
    answers.filter(({ status }) => status !== 200).map(({ text }) => text),
    [],
  );
  t.equal(new Set(answers.map(({ text }) => text)).size, 1);
  t.equal((await harness.call({ path: '/p/notes', structure })).body.length, 4);
});
