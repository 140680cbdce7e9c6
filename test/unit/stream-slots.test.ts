import t from 'tap';
import { paced } from '#engine/stream-slots.ts';
import { ReaderSlots } from '#kernel/limits/reader-slots.ts';

const { signal } = new AbortController();
const cut = { status: 503, code: 'overloaded', message: /read too slowly/ };

/** One slot that is held, and an account that waits for it. */
async function wantedSlot() {
  const clock = { now: 0 };
  const slots = new ReaderSlots({
    limit: 1,
    queueLimit: 10,
    full: 'too many reads wait',
    minRate: 16_384,
    ratePeriod: 10_000,
    lendsAll: false,
    now: () => clock.now,
  });
  const slot = await slots.take(signal, 'a');
  const waiting = slots.take(signal, 'b');
  const look = (now: number): void => {
    clock.now = now;
    slots.watch();
  };
  return { slots, slot, waiting, look };
}

/** Two chunks of 100,000 bytes. `state.ended`: it was given up. */
function source() {
  const state = { ended: false };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (let i = 0; i < 2; i++) yield new Uint8Array(100_000);
    } finally {
      state.ended = true;
    }
  }
  return { state, chunks: chunks() };
}

t.test('chunks come in pieces, all of them', async (t) => {
  const { slots, slot } = await wantedSlot();
  const sizes: number[] = [];
  for await (const piece of paced(slot, source().chunks)) sizes.push(piece.byteLength);
  t.strictSame(sizes, [65_536, 34_464, 65_536, 34_464]);
  slots.close();
});

t.test('who stalls while others wait gets a 503, and the engine ends', async (t) => {
  const { slots, slot, waiting, look } = await wantedSlot();
  const { state, chunks } = source();
  const reader = paced(slot, chunks)[Symbol.asyncIterator]();
  for (let i = 0; i < 3; i++) await reader.next();
  look(10_000);
  t.equal((await reader.next()).value?.byteLength, 34_464, 'three pieces are more than a period needs');
  look(20_000);
  await t.rejects(reader.next(), cut);
  t.ok(state.ended);
  slot.release();
  (await waiting).release();
  slots.close();
});

t.test('a stream whose engine takes long to begin is not cut', async (t) => {
  const { slots, slot, waiting, look } = await wantedSlot();
  slot.awaitsSource = true;
  look(10_000);
  look(19_000);
  const { state, chunks } = source();
  const reader = paced(slot, chunks)[Symbol.asyncIterator]();
  await reader.next();
  look(20_000);
  t.equal((await reader.next()).value?.byteLength, 34_464, 'its period began with its chunks');
  look(29_000);
  await t.rejects(reader.next(), cut);
  t.ok(state.ended);
  slot.release();
  (await waiting).release();
  slots.close();
});
