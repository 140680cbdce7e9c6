/** Live queries over a store whose moments a test chooses. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { RowChange } from '#records/store/row-change.ts';
import { liveOver, rowOf, space } from '../services/live-over.ts';
import { fieldsOf } from '../services/record-client.ts';
import { storedStructure } from '../services/stored-structure.ts';

t.test('what changes while the records are read comes before ready, each record once', async (t) => {
  const { given, rows, write, watch } = liveOver(t);
  for (const id of ['1', '2', '3']) rows.set(id, rowOf(id, 'old'));
  given.onLookUp = async (id) => {
    if (id !== '1') return;
    write('2', 'new');
    write('2', 'newer');
    write('3', null);
    write('4', 'late');
    await nextTurn();
  };
  const client = watch();
  await client.until(/event: ready/);
  t.strictSame(client.events(), ['snapshot 1 2', 'change 2', 'leave 3', 'enter 4', 'ready']);
  t.match(client.text, /newer/);
  t.notMatch(client.text, /new"/, 'nothing older after it');
});

t.test('records that are to be read again while they are read', async (t) => {
  const { given, rows, listeners, watch } = liveOver(t);
  for (let at = 0; at < 1200; at++) rows.set(`${at}`, rowOf(`${at}`, 'x'));
  let times = 0;
  given.onLookUp = async (id) => {
    if (id === '700' && ++times === 1) for (const listener of listeners) listener.reset();
  };
  const client = watch();
  await client.until(/event: ready/);
  // a read makes several events
  const types = client.events().map((event) => event.split(' ')[0]);
  const turns = types.filter((type, at) => type !== types[at - 1]);
  t.strictSame(turns, ['snapshot', 'reset', 'snapshot', 'ready']);
  const ids = client
    .events()
    .slice(types.indexOf('reset'))
    .flatMap((event) => event.split(' ').slice(1));
  t.strictSame(ids.length, new Set(ids).size);
  t.equal(ids.length, rows.size);
});

t.test('where rows are read later, a client hears that a record left that it had for a moment', async (t) => {
  const { given, rows, tell, tellLater, watch } = liveOver(t, false);
  for (const id of ['1', '2', '3']) rows.set(id, rowOf(id, 'x'));
  let told: Promise<unknown> | undefined;
  given.onLookUp = async (id) => {
    if (id !== '2') return;
    // the snapshot has read it, and is on its way
    rows.delete(id);
    told = tellLater(id);
    await sleep(20);
  };
  const client = watch();
  await client.until(/event: ready/);
  await told;
  await client.until(/event: leave/);
  t.strictSame(client.events(), ['snapshot 1 2 3', 'ready', 'leave 2']);
  // new, and gone when its row was read: the snapshot came in between
  tell([{ id: '1', before: null, after: null }]);
  tell([{ id: '1', before: undefined, after: null }]);
  tell([{ id: '3', before: undefined, after: rowOf('3', 'y') }]);
  await client.until(/event: change/);
  t.strictSame(client.events().slice(3), ['leave 1', 'change 3']);
});

t.test('where rows are read later, nothing older comes after a snapshot', async (t) => {
  const { given, rows, tellLater, watch } = liveOver(t, false);
  const first = watch();
  await first.until(/event: ready/);
  rows.set('1', rowOf('1', 'older'));
  const reading = tellLater('1');
  rows.set('1', rowOf('1', 'newer'));
  const second = watch();
  await second.until(/event: ready/);
  t.strictSame(second.events(), ['snapshot 1', 'ready']);
  t.match(second.text, /newer/);
  await reading;
  // told before the snapshot reads it, and changed in between
  given.onMatching = async () => {
    await tellLater('1');
    rows.set('1', rowOf('1', 'newest'));
  };
  const third = watch();
  await third.until(/event: ready/);
  t.strictSame(third.events(), ['snapshot 1', 'ready']);
  t.match(third.text, /newest/);
});

t.test('a client that takes nothing gets each record once, and holds nobody back', async (t) => {
  const { given, write, watch } = liveOver(t);
  const slow = watch();
  const quick = watch();
  await slow.until(/event: ready/);
  await quick.until(/event: ready/);
  for (let at = 0; at < 30; at++) {
    write(`${at % 15}`, `${at}${'x'.repeat(100_000)}`);
    await quick.until(new RegExp(`"name":"${at}x`));
  }
  write('0', null);
  await quick.until(/event: leave/);
  t.notMatch(quick.text, /reset/);
  await slow.until(/"name":"29x/);
  const events = slow.events().map((event) => event.replace('enter', 'change'));
  const ids = Array.from({ length: 14 }, (_, at) => `change ${at + 1}`);
  t.strictSame(events, ['snapshot', 'ready', ...ids]);
  t.equal(given.streams(), 2);
});

t.test('many clients that take nothing do not cost the others their events', async (t) => {
  const { write, watch } = liveOver(t);
  const quick = watch();
  const slow = Array.from({ length: 67 }, () => watch());
  for (const client of [quick, ...slow]) await client.until(/event: ready/);
  // nearly what one may have, and what all may have
  for (let at = 0; at < 10; at++) {
    write(`${at}`, 'x'.repeat(99_800));
    await quick.until(new RegExp(`"id":"${at}"`));
  }
  write('last', 'x'.repeat(150_000));
  await quick.until(/"id":"last"/);
  t.notMatch(quick.text, /reset/);
  for (const client of slow) {
    await client.until(/"id":"last"/);
    t.equal(client.events().length, 2 + 11);
    t.notMatch(client.text, /reset/);
  }
});

t.test('a client that has gone leaves nothing', async (t) => {
  const { given, rows, write, watch, listeners } = liveOver(t);
  rows.set('1', rowOf('1', 'x'));
  const waiting = watch();
  await waiting.until(/event: ready/);
  const next = waiting.chunks.next();
  waiting.leave();
  t.strictSame(await next, { value: undefined, done: true });
  // one that did not take what it was given
  const stalled = watch();
  await stalled.until(/event: ready/);
  write('2', 'x');
  stalled.leave();
  await stalled.chunks.return(undefined);
  // one that goes while its records are read
  const early = watch();
  given.onLookUp = async () => early.leave();
  await t.rejects(early.until(/event: ready/));
  t.equal(given.streams(), 0);
  t.equal(listeners.size, 1, 'they may come back');
});

t.test('a client that missed more than may wait resumes all the same', async (t) => {
  const { rows, write, watch } = liveOver(t);
  rows.set('old', rowOf('old', 'x'));
  const client = watch();
  await client.until(/event: ready/);
  const [, place = ''] = /id: (.*)\nevent: ready/.exec(client.text) ?? [];
  client.leave();
  await client.chunks.next();
  write('old', null);
  for (let at = 0; at < 12; at++) write(`${at}`, 'x'.repeat(100_000));
  await sleep(50);
  const again = watch({ 'last-event-id': place });
  await again.until(/event: ready/);
  t.notMatch(again.text, /reset/);
  const events = again.events().map((event) => event.replace('enter', 'change'));
  t.strictSame(events, ['leave old', ...Array.from({ length: 12 }, (_, at) => `change ${at}`), 'ready']);
});

t.test('changes that can not be told', async (t) => {
  const { tell, write, watch } = liveOver(t);
  const client = watch();
  await client.until(/event: ready/);
  function* broken(): Generator<RowChange> {
    yield { id: '1', before: null, after: rowOf('1', 'x') };
    throw new Error('no memory');
  }
  tell(broken(), 2);
  await client.until(/event: reset[\s\S]*event: ready/);
  write('2', 'x');
  await client.until(/event: enter\ndata: {"id":"2"/);
  t.equal(client.events().at(-1), 'enter 2');
});

t.test('a space that is seen in another way is read again', async (t) => {
  const { given, watch } = liveOver(t);
  const client = watch();
  await client.until(/event: ready/);
  for (const change of [
    { structure: storedStructure(fieldsOf('name TEXT, age NUMBER')) },
    { missing: true },
  ]) {
    client.text = '';
    const seen = { ...space, ...change } as typeof space;
    given.openSpace = async () => seen;
    const again = /event: reset[\s\S]*event: ready/;
    const read = client.until(again);
    // the timer of the checks alone keeps no process
    while (!again.test(client.text)) await sleep(20);
    await read;
  }
});

t.test('what a user may not see any more is not sent, neither records nor events', async (t) => {
  const { given, write, watch } = liveOver(t);
  const less = { ...space, structure: storedStructure(fieldsOf('name TEXT, age NUMBER')) };
  const client = watch({ token: 'of a user' });
  await client.until(/event: ready/);
  for (let times = 0; times < 200; times++) {
    client.text = '';
    given.openSpace = async () => (times % 2 === 0 ? less : space);
    write(`${times}`, `late${times}`);
    await client.until(/event: ready/);
    t.match(client.events()[0], /^reset/);
    t.notMatch(client.text, /event: (enter|change)/);
  }
  // while records are read
  const reader = watch({ token: 'of a user' });
  given.onLookUp = async () => {
    given.openSpace = async () => less;
  };
  given.openSpace = async () => space;
  await reader.until(/event: snapshot/);
  t.match(reader.text, /"age"/, 'as it is seen by now');
  t.ok(reader.events().every((event) => event.startsWith('snapshot ')));
});

t.test('events of a user wait while it can not be seen what he may see', async (t) => {
  const { given, write, watch } = liveOver(t);
  const client = watch({ token: 'of a user' });
  await client.until(/event: ready/);
  let checks = 0;
  given.openSpace = async () => {
    if (++checks > 3) return space;
    throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  };
  write('1', 'x');
  await client.until(/event: enter/);
  t.equal(checks > 3, true);
  t.notMatch(client.text, /reset/);
});

t.test('a check that takes too long ends nothing; one that refuses does', async (t) => {
  const { given, write, watch } = liveOver(t);
  const client = watch();
  await client.until(/event: ready/);
  let checks = 0;
  given.openSpace = async () => {
    checks++;
    throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  };
  while (checks < 2) await sleep(20);
  await nextTurn();
  write('1', 'x');
  await client.until(/event: enter/);
  given.openSpace = async () => {
    throw new Error('unexpected');
  };
  const ended = client.until(/: it failed\n$/);
  // the timer of the checks alone keeps no process
  while (!client.text.endsWith('it failed\n')) await sleep(20);
  await ended;
  t.equal((await client.chunks.next()).done, true);
  t.equal(given.streams(), 0);
});
