/** What bodies hold in memory, as the budgets of the process count it. */
import t from 'tap';
import { createBodyMemory } from '#server/http/body-memory.ts';
import { readJson } from '#server/http/read-json.ts';
import { bodyFeeder, nextTurn } from '../services/fed-body.ts';

const mebibyte = 1024 * 1024;
const limit = 16 * mebibyte;
const text = (size: number) => Buffer.from(`"${'a'.repeat(size - 2)}"`);

t.test('a JSON body in chunks of one byte takes what its bytes take', async (t) => {
  const memory = createBodyMemory();
  const { body, request, push } = bodyFeeder(memory)();
  body.identify('a');
  const value = readJson(request, 2 * mebibyte);
  await nextTurn();
  const allocated = process.memoryUsage().arrayBuffers;
  push(text(mebibyte), 1);
  await nextTurn();
  t.equal(memory.large.used, 2 * mebibyte, 'the whole buffer is claimed');
  t.ok(process.memoryUsage().arrayBuffers - allocated < 4 * mebibyte, 'and nothing else is allocated');
  push(Buffer.from(' '), 1, true);
  t.equal(((await value) as string).length, mebibyte - 2);
  t.equal(memory.large.used + memory.small.used, 0, 'its bytes are given back as soon as it is parsed');
  body.releaseMemory();
  t.equal(memory.values.used, 0);
});

t.test('a sink takes what arrives together in one call', async (t) => {
  const { body, push } = bodyFeeder()();
  let calls = 0;
  let bytes = '';
  const end = new Promise<void>((resolve, reject) => {
    body.consume({
      write(chunk) {
        calls++;
        bytes += Buffer.from(chunk);
        return true;
      },
      end: resolve,
      fail: reject,
    });
  });
  push(Buffer.from('x'.repeat(200_000)), 1);
  push(Buffer.from('y'.repeat(10_000)), 10_000);
  push(Buffer.from('z'), 1, true);
  await end;
  t.equal(bytes, `${'x'.repeat(200_000)}${'y'.repeat(10_000)}z`);
  t.ok(calls <= 6, `${calls} calls`);
});

t.test('small chunks of several bodies are not mixed up', async (t) => {
  const feed = bodyFeeder();
  const all = await Promise.all(
    [...'abcdef'].map(async (letter) => {
      const { request, push } = feed();
      const value = readJson(request, 100_000);
      const bytes = text(500).fill(letter, 1, 499);
      for (let i = 0; i < bytes.byteLength; i++) {
        push(bytes.subarray(i, i + 1), 1, i === bytes.byteLength - 1);
        if (i % 37 === 0) await nextTurn();
      }
      return value;
    }),
  );
  t.strictSame(
    all,
    [...'abcdef'].map((letter) => letter.repeat(498)),
  );
});

t.test('what waits before authentication is bounded for all connections together', async (t) => {
  const memory = createBodyMemory();
  const feed = bodyFeeder(memory);
  const bodies = Array.from({ length: 400 }, () => {
    const fed = feed(mebibyte);
    fed.push(Buffer.alloc(512 * 1024));
    return fed;
  });
  t.ok(memory.unidentified.used <= 64 * mebibyte, `${memory.unidentified.used} bytes`);
  t.ok(
    bodies.every(({ reading }) => !reading),
    'their sockets are not read',
  );
  const small = feed(1000);
  small.push(Buffer.alloc(999, 0x20), 1);
  const refused = readJson((bodies.at(-1) as (typeof bodies)[0]).request, limit);
  await t.rejects(refused, { status: 503, code: 'overloaded' });
  const value = readJson(small.request, limit);
  small.push(Buffer.from('1'), 1, true);
  t.equal(await value, 1, 'small ones have memory of their own');
  for (const { body } of bodies) body.releaseMemory();
  t.equal(memory.unidentified.used, 0);
});

t.test('bodies of one account that drip do not keep others from inserting', async (t) => {
  const began = performance.now();
  const memory = createBodyMemory();
  const feed = bodyFeeder(memory);
  const dripping = Array.from({ length: 17 }, () => {
    const fed = feed(limit);
    fed.body.identify('a');
    const value = readJson(fed.request, limit);
    value.catch(() => {});
    return { ...fed, value };
  });
  await nextTurn();
  for (const { push } of dripping) push(Buffer.from('['), 1);
  await nextTurn();
  t.equal(memory.large.used, 96 * mebibyte, 'they hold the share of their account');
  for (const size of [100, 10 * mebibyte, limit]) {
    const other = feed(size);
    other.body.identify('b');
    const value = readJson(other.request, limit);
    await nextTurn();
    other.push(text(size), 65_536, true);
    t.equal(((await value) as string).length, size - 2);
    other.body.releaseMemory();
  }
  const small = feed(10);
  small.body.identify('a');
  const value = readJson(small.request, limit);
  small.push(text(10), 1, true);
  t.equal(await value, 'aaaaaaaa', 'nor small ones of their own account');

  t.notOk(dripping.some(({ body }) => body.isTooSlow(began + 1000)));
  const now = performance.now();
  t.equal(
    dripping.filter(({ body }) => body.isTooSlow(now + 6000)).length,
    6,
    'holders are cut, waiting ones not',
  );
  dripping[0]?.body.releaseMemory();
  await nextTurn();
  t.equal(memory.large.used, 96 * mebibyte, 'the next one has its place');
});

t.test('a slow body is left alone while nobody waits', async (t) => {
  const fed = bodyFeeder()(limit);
  fed.body.identify('a');
  readJson(fed.request, limit).catch(() => {});
  await nextTurn();
  fed.push(Buffer.from('['), 1);
  t.notOk(fed.body.isTooSlow(performance.now() + 60_000));
});

t.test('few bodies of many values are parsed at once', async (t) => {
  const memory = createBodyMemory();
  const feed = bodyFeeder(memory);
  const bytes = Buffer.from(`[${Array(600_000).fill('{}').join()}]`);
  const parsed: string[] = [];
  const start = (account: string) => {
    const fed = feed(bytes.byteLength);
    fed.body.identify(account);
    const value = readJson(fed.request, limit).then(() => parsed.push(account));
    void nextTurn().then(() => fed.push(bytes, 65_536, true));
    return { ...fed, value };
  };
  const [a1, a2, a3, b] = [start('a'), start('a'), start('a'), start('b')];
  await Promise.all([a1.value, a2.value, b.value]);
  t.strictSame(parsed.sort(), ['a', 'a', 'b']);
  t.equal(memory.values.used, 3 * 1_200_000);
  a1.body.releaseMemory();
  await a3.value;
  t.equal(parsed.length, 4);
});

t.test('who waits for memory and goes away leaves nothing', async (t) => {
  const memory = createBodyMemory();
  const feed = bodyFeeder(memory);
  const bodies = Array.from({ length: 8 }, () => {
    const fed = feed(limit);
    fed.body.identify('a');
    return { ...fed, value: readJson(fed.request, limit) };
  });
  await nextTurn();
  for (const { body, value } of bodies.reverse()) {
    body.fail(new Error('gone'));
    await t.rejects(value, { message: 'gone' });
    body.releaseMemory();
  }
  t.equal(memory.large.used + memory.small.used, 0);
});
