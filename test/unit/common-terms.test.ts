import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { CommonTerms } from '#records/store/common-terms.ts';
import type { Engine } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';

const space = { id: 's', ownerId: 'a' } as RecordSpace;

/** Common terms of an engine that answers one count after another, when the test says so. */
function counted() {
  const state = { counts: 0, answer: Promise.resolve(5) };
  const engine = {
    db: {
      async rows() {
        state.counts++;
        return [{ _space: 's', count: await state.answer }];
      },
    },
    table: { homeOf: () => 'home', countUpTo: () => ({ sql: '', home: '' }) },
  };
  return { state, common: new CommonTerms(engine as unknown as Engine) };
}

/** A clock that the caches read. */
function clock(t: Test) {
  const { now } = performance;
  const time = { later: 0 };
  performance.now = () => now.call(performance) + time.later;
  t.teardown(() => {
    performance.now = now;
  });
  return time;
}

t.test('finds at once share a count, and the next ones wait for nothing', async (t) => {
  const { common, state } = counted();
  await Promise.all([common.of(space), common.of(space)]);
  t.type(common.of(space), 'function');
  t.equal(state.counts, 1);
});

t.test('old statistics count while they are read again', async (t) => {
  const time = clock(t);
  const { common, state } = counted();
  const first = await common.of(space);
  time.later = 6000;
  // the cache reads the clock once a millisecond
  await sleep(2);
  let answer: (records: number) => void = () => {};
  state.answer = new Promise((resolve) => {
    answer = resolve;
  });
  t.equal(await common.of(space), first, 'the read is under way');
  t.equal(await common.of(space), first);
  answer(5);
  await state.answer;
  await sleep(2);
  t.equal(state.counts, 2);
  t.type(common.of(space), 'function');
  t.equal(state.counts, 2, 'they are fresh again');
});

t.test('a count that fails makes no value common, and is not repeated at once', async (t) => {
  const { common, state } = counted();
  state.answer = Promise.reject(new Error('the store is away'));
  const isRare = await common.of(space);
  t.notOk(isRare(undefined as never, undefined as never));
  t.type(common.of(space), 'function');
  t.equal(state.counts, 1);
});
