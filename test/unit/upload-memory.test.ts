import fc from 'fast-check';
import t from 'tap';
import { type MemoryLease, slabBytes, UploadMemory } from '../../gateway/memory/upload-memory.ts';

const MiB = 1024 * 1024;

/** An upload as the memory sees it: reads when it may, fills parts, hands them to a store, gets slabs back. */
class SimulatedUpload {
  readonly lease: MemoryLease;
  readonly size: number;
  readonly partBytes: number;
  readonly readBytes: number;
  readonly parallel: number;
  reading = false;
  received = 0;
  cut: string | null = null;
  done = false;
  current: Buffer[] = [];
  filled = 0;
  inFlight: Buffer[][] = [];

  constructor(
    memory: UploadMemory,
    shape: { size: number; partBytes: number; readBytes: number; parallel: number },
  ) {
    this.size = shape.size;
    this.partBytes = shape.partBytes;
    this.readBytes = shape.readBytes;
    this.parallel = shape.parallel;
    this.lease = memory.open({
      pause: () => {
        this.reading = false;
      },
      resume: () => {
        this.reading = true;
      },
      cut: (reason) => {
        this.cut = reason;
      },
    });
    this.lease.want();
  }

  get blockedByStore(): boolean {
    return this.inFlight.length >= this.parallel;
  }

  /** One read of the socket. */
  read(): void {
    const bytes = Math.min(this.readBytes, this.size - this.received);
    this.received += bytes;
    let rest = bytes;
    while (rest > 0) {
      if (this.filled === this.partBytes) this.ship();
      if (this.filled % slabBytes === 0) this.current.push(this.lease.take());
      const taken = Math.min(rest, slabBytes - (this.filled % slabBytes), this.partBytes - this.filled);
      this.filled += taken;
      rest -= taken;
    }
    this.lease.arrived(bytes);
    if (this.received === this.size) {
      this.reading = false;
      this.lease.idle();
      this.ship();
    } else if (this.blockedByStore) {
      this.reading = false;
      this.lease.idle();
    }
  }

  ship(): void {
    if (this.current.length === 0) return;
    this.inFlight.push(this.current);
    this.current = [];
    this.filled = 0;
    this.lease.shipped();
  }

  /** The store has taken a part. */
  stored(): void {
    const slabs = this.inFlight.shift() as Buffer[];
    this.lease.give(slabs);
    if (this.received === this.size) {
      if (this.inFlight.length === 0) {
        this.done = true;
        this.lease.close();
      }
    } else if (!this.blockedByStore) this.lease.want();
  }
}

const shapes = fc.array(
  fc.record({
    size: fc.integer({ min: 1, max: 24 * MiB }),
    partBytes: fc.constantFrom(MiB, 2 * MiB, 4 * MiB),
    readBytes: fc.constantFrom(1000, 16_384, 65_536, 262_144, 524_288),
    parallel: fc.integer({ min: 1, max: 3 }),
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
          const slack = uploads.length * 2 * 524_288;
          peakShare = Math.max(peakShare, memory.used / budget);
          if (memory.used > budget + slack) throw new Error(`${memory.used} bytes are in use`);
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
      { numRuns: 300 },
    );
    t.ok(contended > 1000, 'memory was short often enough for this to mean something');
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
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
    cut: (reason: string) => events.push(reason),
  };
}

function begin(memory: UploadMemory, one: ReturnType<typeof client>): MemoryLease {
  const lease = memory.open(one);
  lease.want();
  return lease;
}

t.test('without contention an upload reads at once and is never paused', async (t) => {
  const memory = new UploadMemory({
    bytes: 64 * MiB,
    largestPart: 8 * MiB,
    minRate: 8192,
    ratePeriod: 30_000,
    waitLimit: 60_000,
  });
  const one = client();
  const lease = begin(memory, one);
  const slabs = Array.from({ length: 100 }, () => lease.take());
  lease.arrived(100 * slabBytes);
  t.strictSame(one.events, ['resume']);
  lease.give(slabs);
  lease.close();
  t.equal(memory.used, 0);
  memory.close();
});

t.test('who waits goes on in turn when slabs come back', async (t) => {
  const memory = new UploadMemory({
    bytes: 10 * MiB,
    largestPart: 4 * MiB,
    minRate: 0,
    ratePeriod: 1e9,
    waitLimit: 1e9,
  });
  const clients = Array.from({ length: 4 }, client);
  const leases = clients.map((each) => begin(memory, each));
  const slabs = Array.from({ length: 112 }, () => (leases[0] as MemoryLease).take());
  leases[0]?.arrived(7 * MiB);
  for (const lease of leases.slice(1)) lease.arrived(1);
  t.ok(memory.contended);
  // one of them is favoured; the others wait
  const paused = clients.filter(({ events }) => events.at(-1) === 'pause').length;
  t.equal(paused, 3);
  leases[0]?.give(slabs);
  for (const { events } of clients) t.equal(events.at(-1), 'resume');
  t.notOk(memory.contended);
  memory.close();
});

t.test('an upload that is slow while others wait is cut, and one that waits too long', async (t) => {
  const { state, now } = clock();
  const memory = new UploadMemory({
    bytes: 10 * MiB,
    largestPart: 4 * MiB,
    minRate: 8192,
    ratePeriod: 30_000,
    waitLimit: 60_000,
    now,
  });
  const slow = client();
  const slowLease = begin(memory, slow);
  slowLease.take();
  slowLease.arrived(100);
  state.now = 31_000;
  memory.watch();
  t.strictSame(slow.events, ['resume'], 'nobody waits, so slowness costs nobody');

  const large = client();
  const largeLease = begin(memory, large);
  for (let i = 0; i < 110; i++) largeLease.take();
  largeLease.arrived(110 * slabBytes);
  const waiting = client();
  begin(memory, waiting);
  t.ok(memory.contended);
  state.now = 32_000;
  memory.watch();
  state.now = 63_000;
  memory.watch();
  t.equal(slow.events.at(-1), 'slow');
  state.now = 95_000;
  memory.watch();
  t.ok([large, waiting].some(({ events }) => events.includes('waited')));
  memory.close();
});

t.test('a budget that can not hold a part and a read is refused', async (t) => {
  t.throws(
    () => new UploadMemory({ bytes: 4 * MiB, largestPart: 4 * MiB, minRate: 0, ratePeriod: 1, waitLimit: 1 }),
  );
});
