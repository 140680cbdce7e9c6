import t from 'tap';
import { type DownloadSlot, DownloadSlots } from '#gateway/download/download-slots.ts';
import { addressOwner } from '#server/http/address-owner.ts';

function slotsOf(limit: number) {
  const clock = { now: 0 };
  const slots = new DownloadSlots({
    limit,
    minRate: 8192,
    ratePeriod: 10_000,
    waitLimit: 60_000,
    now: () => clock.now,
  });
  const { signal } = new AbortController();
  const cut: string[] = [];
  const take = (owner: string, name = owner): Promise<DownloadSlot> =>
    slots.take(owner, { signal, cut: () => cut.push(name) });
  return { clock, slots, cut, take };
}

t.test('slow downloads are cut while others wait, and only then', async (t) => {
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

t.test('a wait ends with its request, or with 503', async (t) => {
  const slots = new DownloadSlots({ limit: 1, minRate: 0, ratePeriod: 1, waitLimit: 10 });
  const never = { signal: new AbortController().signal, cut: () => {} };
  const slot = await slots.take('a', never);
  const gone = new AbortController();
  const waiting = slots.take('a', { ...never, signal: gone.signal });
  gone.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
  await t.rejects(slots.take('b', never), { message: /too many downloads/ });
  t.equal(slots.waiting, 0);
  slot.release();
  await slots.take('b', never);
  slots.close();
});

t.test('a network of IPv6 addresses is one owner', async (t) => {
  t.equal(addressOwner('192.0.2.7'), '192.0.2.7');
  t.equal(addressOwner('2001:db8:0:1::7'), '2001:db8:0:1');
  t.equal(addressOwner('2001:0db8:0000:0001:abcd:0000:0000:0007'), '2001:db8:0:1');
  t.equal(addressOwner('2001:db8::7'), '2001:db8:0:0');
  t.equal(addressOwner('::1'), '0:0:0:0');
});
