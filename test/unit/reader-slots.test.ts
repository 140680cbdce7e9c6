import t from 'tap';
import { type ReaderSlot, ReaderSlots } from '#kernel/limits/reader-slots.ts';
import { addressOwner } from '#server/http/address-owner.ts';

function slotsOf(limit: number, lendsAll = true) {
  const clock = { now: 0 };
  const slots = new ReaderSlots({
    limit,
    queueLimit: 100,
    waitLimit: 60_000,
    full: 'too many readers',
    minRate: 8192,
    ratePeriod: 10_000,
    lendsAll,
    now: () => clock.now,
  });
  const { signal } = new AbortController();
  const cut: string[] = [];
  const take = async (account: string, name = account): Promise<ReaderSlot> => {
    const slot = await slots.take(signal, account);
    slot.onCut = () => {
      cut.push(name);
      slot.release();
    };
    return slot;
  };
  return { clock, slots, cut, take };
}

t.test('slow readers are cut while others wait, and only then', async (t) => {
  const { clock, slots, cut, take } = slotsOf(2);
  await take('slow');
  const fast = await take('fast');
  clock.now = 60_000;
  slots.watch();
  t.strictSame(cut, []);
  const waiting = take('other');
  t.equal(slots.waiting, 1);
  fast.sent(100_000);
  clock.now = 70_000;
  slots.watch();
  t.strictSame(cut, ['slow']);
  (await waiting).release();
  slots.close();
});

t.test('who has the most gives way to who has less, its slowest first', async (t) => {
  const { clock, slots, cut, take } = slotsOf(4);
  const hog = await Promise.all([1, 2, 3, 4].map((index) => take('hog', `hog ${index}`)));
  for (const [index, slot] of hog.entries()) slot.sent(1_000_000 * (4 - index));
  clock.now = 1000;
  const one = take('one');
  const second = take('one', 'one 2');
  slots.watch();
  await one;
  t.strictSame(cut, ['hog 4']);
  slots.watch();
  await second;
  t.strictSame(cut, ['hog 4', 'hog 3']);
  const third = take('one', 'one 3');
  slots.watch();
  t.strictSame(cut, ['hog 4', 'hog 3'], 'both have the same');
  hog[0]?.release();
  await third;
  hog[3]?.release();
  t.equal(slots.waiting, 0, 'who was cut has nothing to give back');
  slots.close();
});

t.test('who has the least is next', async (t) => {
  const { slots, take } = slotsOf(2);
  const first = await take('many');
  const second = await take('many');
  const order: string[] = [];
  const wait = (owner: string) => take(owner).then(() => order.push(owner));
  const done = [wait('many'), wait('new')];
  first.release();
  await done[1];
  t.strictSame(order, ['new']);
  second.release();
  await done[0];
  t.strictSame(order, ['new', 'many']);
  slots.close();
});

t.test('where no slots are lent, an account has half, and only its own readers are cut for it', async (t) => {
  const { clock, slots, cut, take } = slotsOf(8, false);
  await take('few');
  for (let i = 0; i < 4; i++) await take('many', `many ${i}`);
  const waiting = take('many', 'many 4');
  t.equal(slots.waiting, 1);
  t.equal(slots.inFlight, 5, 'there are slots for others');
  clock.now = 10_000;
  slots.watch();
  t.strictSame(
    cut,
    ['many 0'],
    'one is enough, and the slow reader of the other account keeps nobody waiting',
  );
  (await waiting).release();
  slots.close();
});

t.test('no fast reader is cut for an account that has less, where none are lent', async (t) => {
  const { clock, slots, cut, take } = slotsOf(2, false);
  const held = await Promise.all([take('a'), take('b')]);
  const waiting = take('c');
  clock.now = 10_000;
  for (const slot of held) slot.sent(1_000_000);
  slots.watch();
  t.strictSame(cut, []);
  held[0]?.release();
  (await waiting).release();
  slots.close();
});

t.test('a reader that waits for its source is not slow', async (t) => {
  const { clock, slots, cut, take } = slotsOf(1);
  const slot = await take('a');
  slot.awaitsSource = true;
  const waiting = take('b');
  clock.now = 10_000;
  slots.watch();
  t.strictSame(cut, []);
  slot.awaitsSource = false;
  clock.now = 19_999;
  slots.watch();
  t.strictSame(cut, [], 'it is measured anew');
  clock.now = 20_000;
  slots.watch();
  t.strictSame(cut, ['a']);
  (await waiting).release();
  slots.close();
});

t.test('a close fails those that wait, if it gives a reason', async (t) => {
  const { slots, take } = slotsOf(1);
  await take('a');
  const waiting = take('b');
  slots.close(new Error('closed'));
  await t.rejects(waiting, { message: 'closed' });
});

t.test('a wait ends with its request, or with 503', async (t) => {
  const limits = { limit: 1, queueLimit: 10, waitLimit: 10, full: 'too many readers' };
  const slots = new ReaderSlots({ ...limits, minRate: 0, ratePeriod: 10_000, lendsAll: true });
  const never = new AbortController().signal;
  const slot = await slots.take(never, 'a');
  const gone = new AbortController();
  const waiting = slots.take(gone.signal, 'a');
  gone.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
  await t.rejects(slots.take(never, 'b'), { status: 503, message: /too many readers/ });
  t.equal(slots.waiting, 0);
  slot.release();
  await slots.take(never, 'b');
  slots.close();
});

t.test('a network of IPv6 addresses is one owner', async (t) => {
  t.equal(addressOwner('192.0.2.7'), '192.0.2.7');
  t.equal(addressOwner('2001:db8:0:1::7'), '2001:db8:0:1');
  t.equal(addressOwner('2001:0db8:0000:0001:abcd:0000:0000:0007'), '2001:db8:0:1');
  t.equal(addressOwner('2001:db8::7'), '2001:db8:0:0');
  t.equal(addressOwner('::1'), '0:0:0:0');
});
