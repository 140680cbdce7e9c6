/** What writers tell each other through Redis, and when they go on: without Redis. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { RedisFailure } from '#coordination/redis/redis-connection.ts';
import { RedisVersions } from '#records/store-shared/redis-versions.ts';
import { silentLog } from '../services/silent-log.ts';

/** Work that ends when the test says so. */
function held() {
  let end = (_: Promise<void>): void => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end: () => end(Promise.resolve()), fail: (error: Error) => end(Promise.reject(error)) };
}

function open() {
  const commands: ReturnType<typeof held>[] = [];
  const covers: ReturnType<typeof held>[] = [];
  const add = (to: typeof commands): Promise<void> => {
    const work = held();
    to.push(work);
    return work.done;
  };
  const versions = new RedisVersions({
    redis: { run: () => add(commands) },
    outages: { covered: false, trusted: () => true, cover: () => add(covers) },
    log: silentLog(),
    // longer than the tests take: nothing ends by itself
    times: { lifetime: 30_000, writePatience: 30_000, renewEvery: 30_000 },
  } as unknown as ConstructorParameters<typeof RedisVersions>[0]);
  return { commands, covers, versions };
}

/** Whether it has settled when everything else has run that can. */
async function settles(work: Promise<unknown>): Promise<boolean> {
  let settled = false;
  work.then(
    () => (settled = true),
    () => (settled = true),
  );
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  return settled;
}
const away = new RedisFailure('away', true);

t.test('a write begins when Redis knows, and is acknowledged when Redis knows that it ended', async (t) => {
  const { commands, covers, versions } = open();
  const begin = versions.begin('space');
  t.notOk(await settles(begin));
  commands[0]?.end();
  const end = (await begin)();
  t.notOk(await settles(end));
  t.equal(commands.length, 2);
  commands[1]?.end();
  await end;
  t.equal(covers.length, 0);
});

t.test('Redis is away: it begins, and is acknowledged, when nobody goes by versions', async (t) => {
  const { commands, covers, versions } = open();
  const begin = versions.begin('space');
  commands[0]?.fail(away);
  t.notOk(await settles(begin));
  covers[0]?.end();
  const end = (await begin)();
  await settles(end);
  commands[1]?.fail(away);
  t.notOk(await settles(end));
  covers[1]?.end();
  await end;
});

t.test('nobody can be told: nothing may be written', async (t) => {
  const { commands, covers, versions } = open();
  const begin = versions.begin('space');
  commands[0]?.fail(away);
  await settles(begin);
  covers[0]?.fail(new Error('ClickHouse is away'));
  await t.rejects(begin, { status: 503, code: 'unavailable' });
  await settles(begin);
  commands[1]?.end();
});

t.test('a write that joins one whose beginning Redis does not know yet waits for it', async (t) => {
  const { commands, versions } = open();
  const both = [versions.begin('space'), versions.begin('space')];
  t.notOk(await settles(Promise.race(both)));
  t.equal(commands.length, 1);
  commands[0]?.end();
  const [first] = await Promise.all(both);
  const end = first?.();
  await settles(end as Promise<void>);
  commands[1]?.end();
  await end;
});
