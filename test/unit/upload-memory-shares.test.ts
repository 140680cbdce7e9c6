/** Uploads of several accounts, some of which say nothing more: the others finish, and the budget holds. */
import fc from 'fast-check';
import t from 'tap';
import { UploadMemory } from '#gateway/memory/upload-memory.ts';
import { SimulatedUpload, type UploadShape } from '../services/simulated-upload.ts';
import { sized } from '../services/test-size.ts';

const MiB = 1024 * 1024;
const budget = 16 * MiB;

const shapes = fc.array(
  fc.record({
    size: fc.integer({ min: 1, max: 8 * MiB }),
    readBytes: fc.constantFrom(16_384, 65_536, 524_288),
    lengthKnown: fc.boolean(),
    account: fc.constantFrom('ada', 'bob', 'eve'),
    silent: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 10, maxLength: 60 },
);

/** Some of them fell silent while they were paused, and kept others from going on. */
const silentWhilePaused = (
  [
    ['bob', 5_179_697, 16_384, false, 1],
    ['bob', 1_223_468, 16_384, true, 1],
    ['bob', 7_851_438, 524_288, false, 0],
    ['ada', 8_041_921, 65_536, false, 0],
    ['bob', 1_367_406, 65_536, false, 1],
    ['bob', 8_022_992, 524_288, true, 1],
    ['ada', 8_110_355, 65_536, false, 1],
    ['ada', 2_341_492, 524_288, false, 1],
    ['eve', 2_214_268, 65_536, true, 1],
    ['bob', 2_835_487, 65_536, true, 1],
    ['ada', 1_472_139, 65_536, false, 1],
    ['eve', 1_883_826, 65_536, false, 0],
    ['bob', 219_259, 16_384, false, 1],
    ['eve', 4_202_700, 524_288, true, 0],
  ] as const
).map(([account, size, readBytes, lengthKnown, silent]) => ({
  account,
  size,
  readBytes,
  lengthKnown,
  silent,
}));

class Run {
  readonly memory: UploadMemory;
  readonly uploads: SimulatedUpload[] = [];
  readonly #random: (below: number) => number;
  #now = 0;
  mostUsed = 0;

  constructor(random: (below: number) => number) {
    this.#random = random;
    const rates = { minRate: 1000, ratePeriod: 5000, waitLimit: 1e9 };
    this.memory = new UploadMemory({ bytes: budget, largestPart: 2 * MiB, ...rates, now: () => this.#now });
  }

  begin(shape: UploadShape): void {
    this.uploads.push(new SimulatedUpload(this.memory, shape));
  }

  /** All that can happen happens once, in any order; then half a second has passed. */
  step(): void {
    const moves = this.uploads.flatMap((upload) => [
      () => upload.reading && upload.read(),
      () => upload.inFlight.length > 0 && upload.stored(),
    ]);
    while (moves.length > 0) {
      moves.splice(this.#random(moves.length), 1)[0]?.();
      this.mostUsed = Math.max(this.mostUsed, this.memory.used);
    }
    this.#now += 500;
    this.memory.watch();
  }
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

t.test('beside uploads that fall silent all others finish, and the budget holds', async (t) => {
  let cut = 0;
  let most = 0;
  fc.assert(
    fc.property(shapes, fc.boolean(), fc.integer(), (given, shortParts, seed) => {
      const run = new Run(randomFrom(seed));
      for (const { silent, ...shape } of given) {
        const silence = silent > 0 ? { silentAfter: Math.ceil(shape.size * 0.9) } : {};
        run.begin({ ...shape, ...silence, partBytes: 2 * MiB, parallel: 2, shortParts });
        if (seed % 3 === 0) run.step();
      }
      const others = run.uploads.filter((upload) => upload.shape.silentAfter === undefined);
      for (let i = 0; i < 4000 && others.some(({ done }) => !done); i++) run.step();
      for (const upload of others) {
        if (upload.cut !== null) throw new Error(`an upload that goes on was cut: ${upload.cut}`);
        if (!upload.done) throw new Error('an upload that goes on is stuck');
      }
      for (const upload of run.uploads) {
        if (upload.cut !== null) cut++;
        if (upload.cut !== null && shortParts) throw new Error('what could be handed on was cut');
        if (!upload.done && upload.cut === null) upload.abort();
      }
      for (let i = 0; i < 10; i++) run.step();
      run.memory.close();
      most = Math.max(most, run.mostUsed);
      return run.memory.used === 0;
    }),
    { numRuns: sized(60), examples: [[silentWhilePaused, true, 1_466_014_761]] },
  );
  t.comment(`${cut} silent ones were cut; at most ${(most / budget).toFixed(2)} of the budget was in use`);
  t.ok(cut > 0, 'silent uploads were in the way often enough for this to mean something');
  t.ok(most <= 1.25 * budget, `at most ${most} bytes were in use`);
});

t.test('silent uploads give back what they hold within seconds, once somebody waits', async (t) => {
  for (const shortParts of [true, false]) {
    const run = new Run(randomFrom(1));
    const shape = { readBytes: 524_288, partBytes: 2 * MiB, parallel: 1, lengthKnown: false, shortParts };
    const silent = { ...shape, size: 12 * MiB, account: 'eve', silentAfter: MiB };
    const held = () => run.uploads.slice(0, 3).reduce((sum, { gathered }) => sum + gathered, 0);
    for (let i = 0; i < 3; i++) run.begin(silent);
    for (let i = 0; i < 40; i++) run.step();
    t.equal(held(), 3 * MiB, 'nobody waits, so nobody is in the way');
    for (let i = 0; i < 40; i++) run.begin(silent);
    t.ok(run.memory.contended);
    for (let i = 0; i < 24; i++) run.step();
    t.equal(held(), 0, 'within twelve seconds');
    const cut = run.uploads.filter((upload) => upload.cut !== null).length;
    t.equal(cut > 0, !shortParts, `${cut} are cut`);
    run.begin({ ...shape, size: 6 * MiB, account: 'bob' });
    const bob = run.uploads.at(-1) as SimulatedUpload;
    for (let i = 0; i < 14; i++) run.step();
    t.ok(bob.done, `another account's upload is stored`);
    for (const upload of run.uploads) if (!upload.done && upload.cut === null) upload.abort();
    run.step();
    t.equal(run.memory.used, 0);
    run.memory.close();
  }
});
