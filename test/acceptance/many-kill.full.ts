/** kill -9 in the middle of changes of many records: each is made of all of them, or of none. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const structure = structureOf('p', 'counters', fieldsOf('count NUMBER, kind TEXT'));
const many = 3000;

t.test('kill -9 in the middle of a change of many records', { timeout: 240_000 }, async (t) => {
  let sluice = await sluiceFor(t);
  const send = (path: string, body?: unknown) =>
    call({ ...sluice, path: `/p/counters${path}`, structure, ...(body === undefined ? {} : { body }) });
  await send(
    '',
    Array.from({ length: many }, () => ({ count: 0, kind: 'old' })),
  );
  let acknowledged = 0;
  for (const wait of [20, 100, 250, 500, 900, 1500]) {
    const running = (async () => {
      for (;;) {
        const { status, body } = await send('/_update_', { where: { kind: 'old' }, inc: { count: 1 } });
        if (status !== 200 || body.updated !== many) throw new Error(`${status} ${JSON.stringify(body)}`);
        acknowledged++;
      }
    })().catch((error: Error) => error);
    await sleep(wait);
    await sluice.kill();
    t.match(await running, /fetch failed|terminated/, 'the kill ends it, and nothing else');
    sluice = await sluice.restart();
    const counts = new Set((await send('')).body.map(({ count }: { count: number }) => count));
    t.equal(counts.size, 1, 'all records have been changed equally often');
    const [count] = counts as Set<number>;
    t.ok(
      count === acknowledged || count === acknowledged + 1,
      `${count} changes, ${acknowledged} of them acknowledged`,
    );
    acknowledged = count as number;
  }
  const running = send('/_delete_', { where: { kind: 'old' } }).catch(() => null);
  await sleep(15);
  await sluice.kill();
  const answer = await running;
  sluice = await sluice.restart();
  const left = (await send('')).body.length;
  t.ok(answer === null ? left === 0 || left === many : left === 0, `${left} records are left`);
});
