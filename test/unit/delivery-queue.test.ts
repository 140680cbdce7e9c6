/** Deliveries in memory by a simulated clock: who is served, in which order, and within which bounds. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Delivery } from '#events/delivery.ts';
import type { QueuedDelivery } from '#events/delivery-lanes.ts';
import { DeliveryQueue, queueLimits } from '#events/delivery-queue.ts';
import { retryDelay } from '#events/delivery-sender.ts';
import { Heap } from '#events/heap.ts';

let ids = 0;
function delivery(ownerId: string, more: Partial<Delivery> = {}): Delivery {
  const time = new Date(0);
  return {
    ownerId,
    id: String(++ids).padStart(8, '0'),
    spaceId: 's',
    event: 'record.inserted',
    project: 'p',
    space: 's',
    url: 'http://a/',
    recordIds: [`r${ids}`],
    bytes: 100,
    process: 'p',
    state: 'pending',
    attempts: 0,
    status: 0,
    problem: '',
    createdAt: time,
    updatedAt: time,
    nextAt: time,
    expiresAt: time,
    ...more,
  };
}

/** Takes all that may be sent now. */
function takeAll(queue: DeliveryQueue, now = 0): QueuedDelivery[] {
  const taken: QueuedDelivery[] = [];
  for (let next = queue.take(now); next !== null; next = queue.take(now)) taken.push(next);
  return taken;
}

const owners = (taken: readonly QueuedDelivery[]) => taken.map(({ delivery }) => delivery.ownerId);

t.test('an account is sending while one of its deliveries is', async (t) => {
  const queue = new DeliveryQueue();
  queue.add(delivery('a'));
  queue.add(delivery('b', { nextAt: new Date(1000) }));
  t.strictSame(
    ['a', 'b', 'nobody'].map((owner) => queue.isSending(owner)),
    [false, false, false],
  );
  takeAll(queue);
  t.strictSame(
    ['a', 'b', 'nobody'].map((owner) => queue.isSending(owner)),
    [true, false, false],
  );
});

t.test('an account that fills its memory leaves others theirs', async (t) => {
  const queue = new DeliveryQueue();
  let added = 0;
  while (queue.add(delivery('greedy'))) added++;
  t.ok(added > 1000, `${added} of one account`);
  t.ok(added < 100_000);
  takeAll(queue);
  for (let n = 0; n < 500; n++) {
    const all = Array.from({ length: queueLimits.least }, () => queue.add(delivery(`other ${n}`)));
    if (all.includes(false)) t.fail(`account ${n} has no room`);
  }
});

t.test('calls that hang leave sockets for an account that has none', async (t) => {
  const queue = new DeliveryQueue();
  for (let account = 0; account < 100; account++) {
    for (let n = 0; n < 20; n++) queue.add(delivery(`hangs ${account}`));
  }
  const { calls, reserve } = queueLimits;
  t.equal(takeAll(queue).length, calls - reserve);
  queue.add(delivery('late'));
  t.strictSame(owners(takeAll(queue)), ['late']);
});

t.test('large contents of accounts that hang leave bytes for others', async (t) => {
  const queue = new DeliveryQueue();
  for (let account = 0; account < 20; account++) {
    for (let n = 0; n < 20; n++) queue.add(delivery(`hangs ${account}`, { bytes: 1024 ** 2 }));
  }
  const taken = takeAll(queue);
  t.ok(taken.length < queueLimits.contents / 1024 ** 2, `${taken.length} calls`);
  queue.add(delivery('late', { bytes: 1024 ** 2 }));
  t.strictSame(owners(takeAll(queue)), ['late']);
  for (const queued of taken.slice(0, 4)) queue.end(queued, null);
  t.ok(takeAll(queue).length > 0, 'what was given back is used');
});

t.test('accounts and their addresses are served in turn', async (t) => {
  const queue = new DeliveryQueue({ callsOfAccount: 2 });
  for (let n = 0; n < 3; n++) queue.add(delivery('a', { url: 'http://dead/' }));
  queue.add(delivery('a', { url: 'http://live/' }));
  for (let n = 0; n < 3; n++) queue.add(delivery('b'));
  const taken = takeAll(queue);
  t.strictSame(owners(taken), ['a', 'b', 'a', 'b']);
  t.strictSame(
    taken.filter(({ delivery }) => delivery.ownerId === 'a').map(({ delivery }) => delivery.url),
    ['http://dead/', 'http://live/'],
  );
});

t.test('what waits for a time is asked for at that time, and not before', async (t) => {
  const queue = new DeliveryQueue();
  queue.add(delivery('a'));
  const [queued] = takeAll(queue) as [QueuedDelivery];
  queue.end(queued, 5000);
  t.equal(queue.nextAt, 5000);
  t.strictSame(takeAll(queue, 4999), []);
  t.strictSame(takeAll(queue, 5000), [queued]);
  queue.end(queued, null);
  t.equal(queue.nextAt, null);
  t.equal(queue.roomOf('a'), new DeliveryQueue().roomOf('a'), 'nothing is left of it');
});

t.test('an address that was down gets one call at a time, faster with each success', async (t) => {
  const queue = new DeliveryQueue({ failures: 3, gap: 1000 });
  for (let n = 0; n < 100; n++) queue.add(delivery('a'));
  for (const queued of takeAll(queue)) queue.end(queued, 1);
  const starts: number[] = [];
  let now = 1;
  for (let ended = 0; ended < 100; now = Math.max(now, queue.nextAt ?? 0)) {
    const taken = takeAll(queue, now);
    ended += taken.length;
    starts.push(...taken.map(() => now));
    for (const queued of taken) queue.end(queued, null);
  }
  const gaps = starts.map((at, index) => at - (starts[index - 1] ?? at));
  t.strictSame(gaps.slice(1, 4).map(Math.round), [1000, 800, 640], 'milliseconds');
  t.equal(new Set(starts.slice(0, 24)).size, 24);
  t.equal(gaps.at(-1), 0, 'and then as ever');
});

t.test('an address that is down holds up no other of its account', async (t) => {
  const queue = new DeliveryQueue({ failures: 3 });
  for (let n = 0; n < 10; n++) queue.add(delivery('a', { url: 'http://down/' }));
  for (const queued of takeAll(queue)) queue.end(queued, 1);
  const [alone] = takeAll(queue, 1) as [QueuedDelivery];
  t.strictSame(takeAll(queue, 5000), [], 'while that call hangs');
  queue.add(delivery('a', { url: 'http://well/' }));
  const [other] = takeAll(queue, 5000) as [QueuedDelivery];
  t.equal(other.delivery.url, 'http://well/');
  queue.end(alone, 5000);
  t.equal(takeAll(queue, 5000).length, 1);
});

t.test('each next try comes after twice the time, with jitter, and within an hour', async (t) => {
  const longest = [1, 2, 3, 10, 11, 1000].map((attempts) => retryDelay(attempts, () => 1));
  t.strictSame(longest, [5000, 10_000, 20_000, 2_560_000, 3_600_000, 3_600_000]);
  t.equal(
    retryDelay(2, () => 0),
    5000,
  );
});

t.test('100,000 deliveries cost the next one no walk', async (t) => {
  let comparisons = 0;
  const heap = new Heap<{ at: number; slot: number }>((one, other) => {
    comparisons++;
    return one.at < other.at;
  });
  const many = 100_000;
  const items = Array.from({ length: many }, (_, i) => ({ at: (i * 7919) % many, slot: -1 }));
  for (const item of items) heap.add(item);
  comparisons = 0;
  for (let n = 0; n < 1000; n++) {
    const { first } = heap;
    heap.remove(first as (typeof items)[number]);
    heap.remove(items[50_000 + n] as (typeof items)[number]);
  }
  t.ok(comparisons < 2000 * 2 * Math.ceil(Math.log2(many)) + 4000, `${comparisons} comparisons`);
});

t.test('a heap gives everything in order, whatever is taken out', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer(), fc.boolean()), { maxLength: 60 }), (steps) => {
      const heap = new Heap<{ at: number; slot: number }>((one, other) => one.at < other.at);
      const items = steps.map(([at]) => ({ at, slot: -1 }));
      for (const item of items) heap.add(item);
      const left = items.filter((_, i) => steps[i]?.[1]);
      for (const item of items) if (!left.includes(item)) heap.remove(item);
      const order: number[] = [];
      for (let { first } = heap; first !== undefined; first = heap.first) {
        heap.remove(first);
        order.push(first.at);
      }
      return order.join() === [...left.map(({ at }) => at)].sort((a, b) => a - b).join();
    }),
  );
});

const limits = { memory: 20_000, share: 3, least: 2, calls: 6, callsOfAccount: 3, reserve: 2 };
const tight = { ...limits, failures: 3, gap: 20, contents: 400, contentsOfAccount: 150 };

interface Wanted {
  readonly account: number;
  readonly address: number;
  readonly records: readonly number[];
  readonly bytes: number;
  readonly comesAt: number;
  readonly takes: number;
  /** Attempts that fail. */
  readonly fails: number;
  /** Whether a failure splits it, where it may be. */
  readonly splits: boolean;
  /** Milliseconds that a failure asks for. */
  readonly pauses: number;
}

const wanted: fc.Arbitrary<Wanted> = fc.record({
  account: fc.integer({ min: 0, max: 3 }),
  address: fc.integer({ min: 0, max: 1 }),
  records: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 }),
  bytes: fc.integer({ min: 1, max: 100 }),
  comesAt: fc.integer({ min: 0, max: 50 }),
  takes: fc.integer({ min: 1, max: 30 }),
  fails: fc.integer({ min: 0, max: 2 }),
  splits: fc.boolean(),
  pauses: fc.constantFrom(0, 0, 50),
});

/** Sends all by a simulated clock. @returns what went wrong */
function simulate(all: readonly Wanted[]): string | null {
  const queue = new DeliveryQueue(tight);
  const plans = new Map<string, Wanted & { left: number }>();
  const store = [...all]
    .sort((one, other) => one.comesAt - other.comesAt)
    .map((plan) => {
      const recordIds = plan.records.map(String);
      const url = `http://${plan.address}/`;
      const nextAt = new Date(plan.comesAt);
      const made = delivery(`${plan.account}`, { recordIds, url, bytes: plan.bytes, nextAt });
      plans.set(made.id, { ...plan, left: plan.fails });
      return made;
    });
  const pausedUntil = new Map<string, number>();
  let split = 0;
  const running: { queued: QueuedDelivery; ends: number }[] = [];
  const delivered = new Set<string>();
  const lastOf = new Map<string, string>();
  for (let now = 0; delivered.size < all.length + split; now++) {
    if (now > 200_000) return `${all.length + split - delivered.size} starve`;
    // what an account has in the store comes in order, as far as there is room
    const full = new Set<string>();
    for (const one of [...store]) {
      if (one.nextAt.getTime() > now || full.has(one.ownerId)) continue;
      if (queue.add(one)) store.splice(store.indexOf(one), 1);
      else full.add(one.ownerId);
    }
    for (const queued of takeAll(queue, now)) {
      const { url } = queued.delivery;
      if ((pausedUntil.get(`${queued.delivery.ownerId} ${url}`) ?? 0) > now)
        return `${url} is called in a pause`;
      running.push({ queued, ends: now + (plans.get(queued.delivery.id)?.takes ?? 0) });
      for (const id of queued.delivery.recordIds) {
        const key = `${queued.delivery.ownerId} ${queued.delivery.url} ${id}`;
        const before = lastOf.get(key) ?? '';
        if (before > queued.delivery.id) return `${queued.delivery.id} after ${before}`;
        if (before !== '' && before !== queued.delivery.id && !delivered.has(before))
          return `beside ${before}`;
        lastOf.set(key, queued.delivery.id);
      }
    }
    const problem = boundsOf(running.map(({ queued }) => queued));
    if (problem !== null) return problem;
    for (const one of running.filter(({ ends }) => ends === now)) {
      running.splice(running.indexOf(one), 1);
      const { delivery: ended } = one.queued;
      const plan = plans.get(ended.id) as Wanted & { left: number };
      if (plan.left-- > 0) {
        const until = plan.pauses === 0 ? 0 : now + plan.pauses;
        if (until > 0) pausedUntil.set(`${ended.ownerId} ${ended.url}`, until);
        const health = { failed: true, slows: until > 0, until };
        if (plan.splits && queue.maySplit(one.queued)) {
          const singles = ended.recordIds.map((id, index) => ({
            ...ended,
            id: `${ended.id}-${String(index).padStart(3, '0')}`,
            recordIds: [id],
          }));
          for (const single of singles) plans.set(single.id, { ...plan, left: 0 });
          delivered.add(ended.id);
          split += singles.length;
          queue.split(one.queued, singles, health);
        } else queue.end(one.queued, now + 10, health);
      } else {
        delivered.add(one.queued.delivery.id);
        queue.end(one.queued, null);
      }
    }
  }
  return queue.nextAt === null && queue.take(1e9) === null ? null : 'something is left';
}

function boundsOf(running: readonly QueuedDelivery[]): string | null {
  const sum = (of: readonly QueuedDelivery[]) =>
    of.reduce((bytes, { delivery }) => bytes + delivery.bytes, 0);
  if (running.length > tight.calls) return `${running.length} calls`;
  if (sum(running) > tight.contents) return `${sum(running)} bytes`;
  for (const owner of new Set(owners(running))) {
    const own = running.filter(({ delivery }) => delivery.ownerId === owner);
    if (own.length > tight.callsOfAccount) return `${own.length} calls of an account`;
    if (own.length > 1 && sum(own) > tight.contentsOfAccount) return `${sum(own)} bytes of an account`;
  }
  return null;
}

t.test('all arrive, in order by record, within all bounds, whatever hangs and fails', async (t: Test) => {
  fc.assert(
    fc.property(fc.array(wanted, { maxLength: 60 }), (all) => {
      const problem = simulate(all);
      if (problem !== null) throw new Error(problem);
    }),
    { numRuns: 150 },
  );
  t.pass();
});

t.test('another account is served next, however much one has', async (t) => {
  const queue = new DeliveryQueue({ calls: 9, reserve: 1, gap: 0 });
  for (let n = 0; n < 1000; n++) queue.add(delivery('greedy'));
  let running = takeAll(queue);
  for (let round = 0; round < 50; round++) {
    queue.add(delivery('other'));
    queue.end(running.shift() as QueuedDelivery, 10_000_000);
    const next = takeAll(queue);
    t.equal(next[0]?.delivery.ownerId, 'other');
    for (const queued of next.filter(({ delivery }) => delivery.ownerId === 'other')) queue.end(queued, null);
    running = [...running, ...next.filter(({ delivery }) => delivery.ownerId !== 'other'), ...takeAll(queue)];
  }
});

t.test('a split leaves nothing of its memory behind', async (t) => {
  const queue = new DeliveryQueue();
  const before = queue.roomOf('a');
  queue.add(delivery('a', { id: '00', recordIds: ['x', 'y', 'x'] }));
  queue.add(delivery('a', { recordIds: ['y'] }));
  const [whole] = takeAll(queue) as [QueuedDelivery];
  const singles = ['x', 'y', 'x'].map((id, index) => delivery('a', { id: `00-00${index}`, recordIds: [id] }));
  queue.split(whole, singles, { failed: true });
  const rounds: string[][] = [];
  for (let taken = takeAll(queue); taken.length > 0; taken = takeAll(queue)) {
    rounds.push(taken.map(({ delivery }) => delivery.recordIds.join()));
    for (const queued of taken) queue.end(queued, null);
  }
  t.strictSame(rounds, [
    ['x', 'y'],
    ['x', 'y'],
  ]);
  t.equal(queue.nextAt, null);
  t.equal(queue.roomOf('a'), before);
});
