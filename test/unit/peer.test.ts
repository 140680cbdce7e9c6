import { EventEmitter } from 'node:events';
import t from 'tap';
import { type Channel, createPeer } from '#process/lifecycle/workers/peer.ts';

/** Two ends of a channel that carries JSON, as that between processes does. */
function pair() {
  const ends = [new EventEmitter(), new EventEmitter()] as const;
  const state = { connected: true };
  const end = (own: 0 | 1): Channel => ({
    get connected() {
      return state.connected;
    },
    send(message, _handle, _options, sent) {
      const text = JSON.stringify(message);
      setImmediate(() => ends[own === 0 ? 1 : 0].emit('message', JSON.parse(text)));
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
  b.on('slow', async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return 2;
  });
  b.on('quick', () => 4);
  const first = a.ask('slow', 60_000);
  t.equal(await a.ask('quick', 60_000), 4);
  waiting[0]?.();
  t.equal(await first, 2);
});

t.test('failures come back', async (t) => {
  const { a, b } = pair();
  b.on('bug', () => {
    throw new TypeError('oops');
  });
  await t.rejects(a.ask('bug', 60_000), { message: 'bug: oops' });
  await t.rejects(a.ask('nothing', 60_000), { message: 'nothing: this process does not know nothing' });
});

t.test('a question without an answer has a deadline, and one to a process that is gone fails', async (t) => {
  const { a, b, state } = pair();
  b.on('never', () => new Promise(() => {}));
  await t.rejects(a.ask('never', 20), { message: 'never: no answer within 20 ms' });
  state.connected = false;
  await t.rejects(b.ask('never', 60_000), { message: 'never: the other process is gone' });
});
