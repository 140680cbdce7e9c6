import { EventEmitter } from 'node:events';
import t from 'tap';
import { CommandError } from '../../common/errors/command-error.ts';
import { type Channel, createPeer } from '../../common/lifecycle/workers/peer.ts';

/** Two ends of a channel that carries JSON, as that between processes does. */
function pair() {
  const ends = [new EventEmitter(), new EventEmitter()] as const;
  const state = { connected: true, deliver: true };
  const end = (own: 0 | 1): Channel => ({
    get connected() {
      return state.connected;
    },
    send(message, _handle, _options, sent) {
      const text = JSON.stringify(message);
      if (state.deliver) setImmediate(() => ends[own === 0 ? 1 : 0].emit('message', JSON.parse(text)));
      sent(null);
      return true;
    },
    on: (event, listener) => ends[own].on(event, listener),
  });
  return { a: createPeer(end(0)), b: createPeer(end(1)), state };
}

t.test('questions get their own answers, whatever the order', async (t) => {
  const { a, b } = pair();
  const waiting: (() => void)[] = [];
  b.answer('double', async (n: number) => {
    if (n === 1) await new Promise<void>((resolve) => waiting.push(resolve));
    return 2 * n;
  });
  const first = a.ask('double', 1, 60_000);
  t.equal(await a.ask('double', 2, 60_000), 4);
  waiting[0]?.();
  t.equal(await first, 2);
});

t.test('questions that are over make room for others', async (t) => {
  const { a, b } = pair();
  b.answer('double', async (n: number) => 2 * n);
  for (let round = 0; round < 3; round++) {
    const answers = Array.from({ length: 1000 }, (_, i) => a.ask('double', i, 60_000));
    t.equal((await Promise.all(answers)).length, 1000);
  }
});

t.test('refusals come back as what they are', async (t) => {
  const { a, b } = pair();
  b.answer('command', async () => {
    throw new CommandError('not like this');
  });
  b.answer('bug', async () => {
    throw new TypeError('oops');
  });
  const refused = await a.ask('command', null, 60_000).catch((error: unknown) => error);
  t.ok(refused instanceof CommandError);
  t.match(refused, { message: 'not like this' });
  const failed = await a.ask('bug', null, 60_000).catch((error: unknown) => error);
  t.notOk(failed instanceof CommandError);
  t.match(failed, { message: 'oops' });
  await t.rejects(a.ask('nothing', null, 60_000), { message: 'this process does not know nothing' });
});

t.test(
  'a question that is not answered has a deadline, and so has one to a process that is gone',
  async (t) => {
    const { a, b, state } = pair();
    b.answer('never', () => new Promise(() => {}));
    await t.rejects(a.ask('never', null, 20), { message: 'never: no answer within 20 ms' });
    const cut = a.ask('never', null, 60_000);
    a.close();
    await t.rejects(cut, { message: 'the other process is gone' });
    await t.rejects(a.ask('never', null, 60_000), { message: 'never: the other process is gone' });
    state.connected = false;
    await t.rejects(b.ask('never', null, 60_000), { message: 'never: the other process is gone' });
    let sent = 0;
    b.tell('news', null, () => sent++);
    t.equal(sent, 1, 'who counts what is under way is told');
  },
);

t.test('questions that wait are bounded', async (t) => {
  const { a, state } = pair();
  state.deliver = false;
  const waiting = Array.from({ length: 1000 }, () => a.ask('x', null, 60_000).catch(() => {}));
  await t.rejects(a.ask('x', null, 60_000), { message: 'too many questions are open' });
  a.close();
  await Promise.all(waiting);
});

t.test('what is told arrives in order', async (t) => {
  const { a, b } = pair();
  const heard: number[] = [];
  const all = new Promise<void>((resolve) => {
    b.on('n', (n: number) => {
      heard.push(n);
      if (n === 4) resolve();
    });
  });
  for (let n = 0; n < 5; n++) a.tell('n', n);
  a.tell('unheard of', null);
  await all;
  t.strictSame(heard, [0, 1, 2, 3, 4]);
});
