import fc from 'fast-check';
import t from 'tap';
import type { MemoryLease } from '#gateway/memory/memory-lease.ts';
import { slabBytes } from '#gateway/memory/slab-pool.ts';
import { UploadMemory } from '#gateway/memory/upload-memory.ts';
import { SimulatedUpload } from '../services/simulated-upload.ts';
import { sized } from '../services/test-size.ts';

const MiB = 1024 * 1024;

const shapes = fc.array(
  fc.record({
    size: fc.integer({ min: 1, max: 24 * MiB }),
    partBytes: fc.constantFrom(MiB, 2 * MiB, 4 * MiB),
    readBytes: fc.constantFrom(1000, 16_384, 65_536, 262_144, 524_288),
    parallel: fc.integer({ min: 1, max: 3 }),
    lengthKnown: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
);

t.test(
  'whatever uploads come, in whatever order things happen, all finish and memory stays bounded',
  async (t) => {
    let contended = 0;
    let peakShare = 0;
    fc.assert(
      fc.property(shapes, fc.integer(), (given, seed) => {
        const budget = 12 * MiB;
        const largestPart = 4 * MiB;
        const memory = new UploadMemory({
          bytes: budget,
          largestPart,
          minRate: 0,
          ratePeriod: 1e9,
          waitLimit: 1e9,
        });
        let state = seed >>> 0;
        const random = (below: number): number => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return Math.floor((state / 2 ** 32) * below);
        };
        const uploads: SimulatedUpload[] = [];
        const coming = [...given];
        for (let step = 0; step < 1_000_000; step++) {
          if (coming.length > 0 && random(4) === 0) {
            uploads.push(new SimulatedUpload(memory, coming.pop() as (typeof given)[number]));
          }
          const moves = uploads.flatMap((upload) => [
            ...(upload.reading ? [() => upload.read()] : []),
            ...(upload.inFlight.length > 0 ? [() => upload.stored()] : []),
          ]);
          if (memory.contended) contended++;
          peakShare = Math.max(peakShare, memory.used / budget);
          if (moves.length === 0) {
            if (coming.length > 0) continue;
            break;
          }
          (moves[random(moves.length)] as () => void)();
        }
        memory.close();
        const unfinished = uploads.filter(({ done }) => !done);
        if (unfinished.length > 0)
          throw new Error(`${unfinished.length} of ${uploads.length} uploads are stuck`);
        return memory.used === 0;
      }),
      { numRuns: sized(300) },
    );
    t.ok(contended > 1000, 'memory was short often enough for this to mean something');
    t.comment(`at most ${peakShare.toFixed(3)} of the budget was in use`);
    // what was held beyond a part, and a part for who would otherwise wait for ever
    t.ok(peakShare < 1.5, `at most ${peakShare} of the budget was in use`);
  },
);

function clock() {
  const state = { now: 0 };
  return { state, now: () => state.now };
}

function client() {
  const events: string[] = [];
  return {
    events,
    resume: () => events.push('resume'),
    flush: () => false,
    cut: (reason: string) => events.push(reason),
  };
}

function begin(memory: UploadMemory, one: ReturnType<typeof client>): MemoryLease {
  const lease = memory.open('ada', one);
  lease.want(4 * MiB, false);
  return lease;
}

const limits = { minRate: 8192, ratePeriod: 30_000, waitLimit: 60_000 };

t.test('without contention an upload reads at once and is never stopped', async (t) => {
  const memory = new UploadMemory({ bytes: 64 * MiB, largestPart: 8 * MiB, ...limits });
  const one = client();
  const lease = begin(memory, one);
  const slabs = Array.from({ length: 100 }, () => lease.take());
  lease.arrived(100 * slabBytes);
  lease.shipped();
  lease.want(4 * MiB, false);
  t.ok(lease.reading);
  t.notOk(memory.contended);
  lease.give(slabs);
  lease.close();
  t.equal(memory.used, 0);
  memory.close();
});

t.test('who waits goes on in turn when slabs come back, for a whole part', async (t) => {
  const memory = new UploadMemory({ bytes: 13 * MiB, largestPart: 4 * MiB, ...limits });
  const clients = Array.from({ length: 4 }, client);
  const leases = clients.map((each) => begin(memory, each));
  const reading = () => leases.map((lease) => lease.reading);
  t.strictSame(reading(), [true, true, false, false], 'as many parts as the budget carries');
  const [first, second] = leases as [MemoryLease, MemoryLease];
  const slabs = Array.from({ length: 65 }, () => first.take());
  first.arrived(65 * slabBytes);
  t.ok(first.reading, 'a part that is not full is not stopped');
  first.shipped();
  first.want(4 * MiB, false);
  t.strictSame(reading(), [false, true, false, false], 'the next part waits');
  first.give(slabs.splice(1));
  t.strictSame(reading(), [true, true, false, false], 'what has begun and what would begin take turns');
  second.close();
  t.strictSame(reading(), [true, false, true, false]);
  for (const lease of [...leases].reverse()) lease.close();
  first.give(slabs);
  t.equal(memory.used, 0);
  memory.close();
});

t.test('what is small waits for its turn only, and takes no more than it needs', async (t) => {
  const memory = new UploadMemory({ bytes: 10 * MiB, largestPart: 4 * MiB, ...limits });
  const leases = Array.from({ length: 140 }, () => memory.open('ada', client()));
  for (const lease of leases) lease.want(10_000, true);
  t.equal(memory.waiting, 0);
  const one = memory.open('ada', client());
  one.want(10_000, true);
  t.equal(memory.waiting, 1);
  leases[0]?.close();
  t.ok(one.reading);
  memory.close();
});

/** Uploads of one account that take all it may have, and one of it that waits. */
function crowded(now: () => number) {
  const memory = new UploadMemory({ bytes: 15 * MiB, largestPart: 4 * MiB, ...limits, now });
  const slow = client();
  const slowLease = begin(memory, slow);
  const other = begin(memory, client());
  return { memory, slow, slowLease, other };
}

t.test('an upload that is slow while others wait is cut', async (t) => {
  const { state, now } = clock();
  const { memory, slow, slowLease, other } = crowded(now);
  for (let i = 0; i < 32; i++) slowLease.take();
  slowLease.arrived(100);
  state.now = 31_000;
  memory.watch();
  t.strictSame(slow.events, ['resume'], 'nobody waits, so slowness costs nobody');
  begin(memory, client());
  begin(memory, client());
  t.ok(memory.contended);
  for (; state.now < 63_000; state.now += 1000) {
    other.arrived(MiB);
    memory.watch();
  }
  t.strictSame(slow.events, ['resume', 'slow']);
  memory.close();
});

t.test('uploads that fell silent one after another keep little, as those that did so at once', async (t) => {
  const { state, now } = clock();
  const memory = new UploadMemory({
    bytes: 64 * MiB,
    largestPart: 4 * MiB,
    ...limits,
    ratePeriod: 5000,
    now,
  });
  const clients = Array.from({ length: 30 }, client);
  const leases = clients.map((one) => begin(memory, one));
  const silent: number[] = [];
  for (; state.now < 20_000; state.now += 500) {
    const next = leases.findIndex((lease, index) => lease.reading && !silent.includes(index));
    for (let i = 0; next >= 0 && silent.length < 10 && i < 16; i++) leases[next]?.take();
    if (next >= 0 && silent.length < 10) leases[next]?.arrived(MiB);
    if (next >= 0) silent.push(next);
    memory.watch();
    t.ok(memory.contended);
  }
  const kept = silent.slice(0, 10).filter((index) => !clients[index]?.events.includes('slow')).length;
  t.ok(kept <= 3, `${kept} of ten keep their MiB; a sixteenth of what the account may have is 3.5`);
  memory.close();
});

t.test('the time until a client notices that it may send is not held against it', async (t) => {
  const { state, now } = clock();
  const { memory, slow: late, slowLease: lease, other } = crowded(now);
  const watchUntil = (end: number): void => {
    for (; state.now < end; state.now += 1000) {
      other.arrived(MiB);
      memory.watch();
    }
  };
  for (let i = 0; i < 32; i++) lease.take();
  begin(memory, client());
  begin(memory, client());
  watchUntil(50_000);
  t.strictSame(late.events, ['resume']);
  lease.arrived(1);
  watchUntil(81_000);
  t.strictSame(late.events.slice(0, 2), ['resume', 'slow']);
  memory.close();
});

t.test('an upload that was paused for long was cut before TCP had tried again', async (t) => {
  const { state, now } = clock();
  const { memory, slow, slowLease: lease, other } = crowded(now);
  begin(memory, client());
  for (let i = 0; i < 32; i++) lease.take();
  lease.arrived(2 * MiB);
  lease.idle();
  lease.want(2 * MiB, false);
  t.notOk(lease.reading, 'the one that waited goes first');
  const watchUntil = (ended: () => boolean): void => {
    for (; !ended() && state.now < 300_000; state.now += 1000) {
      other.arrived(MiB);
      memory.watch();
    }
  };
  watchUntil(() => lease.reading);
  const pause = state.now;
  t.ok(pause > 50_000);
  begin(memory, client());
  // the kernel had kept it; what the client sent behind it was dropped
  lease.arrived(1);
  watchUntil(() => slow.events.includes('slow'));
  t.ok(state.now > 2 * pause + 30_000 - 2000, `paused for ${pause} ms, cut after ${state.now}`);
  t.ok(state.now < 2 * pause + 40_000, 'but not for ever');
  memory.close();
});

t.test('who waits is not cut while anything moves, however long it takes', async (t) => {
  const { state, now } = clock();
  const memory = new UploadMemory({ bytes: 10 * MiB, largestPart: 4 * MiB, ...limits, now });
  const moving = [begin(memory, client()), begin(memory, client())];
  const waiting = client();
  begin(memory, waiting);
  for (; state.now < 3_600_000; state.now += 20_000) {
    for (const lease of moving) lease.arrived(20 * MiB);
    memory.watch();
  }
  t.strictSame(waiting.events, []);
  state.now += 61_000;
  memory.watch();
  t.strictSame(waiting.events, ['waited'], 'nothing has moved for a minute');
  memory.close();
});

t.test('what a burst took is not kept when it is over', async (t) => {
  const memory = new UploadMemory({ bytes: 256 * MiB, largestPart: 8 * MiB, ...limits });
  const leases = Array.from({ length: 10 }, () => begin(memory, client()));
  const slabs = leases.map((lease) => Array.from({ length: 256 }, () => lease.take()));
  t.ok(memory.allocated >= 160 * MiB);
  for (const [index, lease] of leases.entries()) {
    lease.shipped();
    lease.give(slabs[index] as Buffer[]);
    lease.close();
  }
  t.equal(memory.used, 0);
  memory.watch();
  memory.watch();
  t.equal(memory.allocated, 0);
  memory.close();
});

t.test('a budget that can not hold a part and a read is refused', async (t) => {
  t.throws(
    () => new UploadMemory({ bytes: 4 * MiB, largestPart: 4 * MiB, minRate: 0, ratePeriod: 1, waitLimit: 1 }),
  );
});
