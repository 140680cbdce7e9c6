/**
 * Crowds of uploads against the budget alone, by a simulated clock: how much gets through to a slow store must not
 * fall when more come, nobody is refused, and slow clients do not take the memory from fast ones.
 */
import t from 'tap';
import { type CrowdResult, simulateCrowds } from '../services/simulated-crowd.ts';
import { full } from '../services/test-size.ts';

const MiB = 1024 * 1024;
const MB = 1_000_000;
const budget = 256 * MiB;
const fast = 50 * MB;

t.test('a larger crowd gets as much through to a slow store as any smaller one', async (t) => {
  let best = 0;
  for (const uploads of full ? [5, 10, 20, 30, 40, 60, 100, 200, 400, 1000] : [5, 20, 60, 200]) {
    const { results, mostUsed, meanConnections } = simulateCrowds([{ uploads, size: 20 * MB, rate: fast }], {
      budget,
      storeRate: MB,
    });
    const [{ stored, goodput, seconds }] = results as [CrowdResult];
    t.comment(
      `${uploads} uploads: ${(goodput / MB).toFixed(1)} MB/s, ${seconds.toFixed(0)} s, ` +
        `${meanConnections.toFixed(0)} connections, ${(mostUsed / MiB).toFixed(0)} MiB at most`,
    );
    t.equal(stored, uploads, `${uploads} of ${uploads} are stored`);
    t.ok(goodput >= 0.9 * best, `${uploads}: ${goodput} bytes a second, the best before had ${best}`);
    t.ok(mostUsed <= budget + 16 * MiB, `${mostUsed} bytes in use`);
    best = Math.max(best, goodput);
  }
});

t.test('large files, small files and files of unknown length do so as well', async (t) => {
  for (const { size, lengthKnown } of [
    { size: 100 * MB, lengthKnown: true },
    { size: 100 * MB, lengthKnown: false },
    { size: 3 * MB, lengthKnown: true },
  ]) {
    let best = 0;
    for (const uploads of full ? [20, 40, 100, 400] : [20, 100]) {
      const { results } = simulateCrowds([{ uploads, size, rate: fast, lengthKnown }], {
        budget,
        storeRate: MB,
      });
      const [{ stored, goodput }] = results as [CrowdResult];
      t.comment(`${uploads} of ${size / MB} MB: ${(goodput / MB).toFixed(1)} MB/s`);
      t.equal(stored, uploads);
      t.ok(goodput >= 0.9 * best, `${uploads} of ${size / MB} MB: ${goodput}, the best before had ${best}`);
      best = Math.max(best, goodput);
    }
  }
});

t.test('slow clients do not take the memory from fast ones', async (t) => {
  const storeRate = 100 * MB;
  const quick = { uploads: 8, size: 640 * MB, rate: 20 * MB, at: 3000 };
  const [alone] = simulateCrowds([quick], { budget, storeRate }).results as [CrowdResult];
  for (const crowd of [
    ...(full ? [{ uploads: 500, size: 300_000, rate: 10_000 }] : []),
    ...(full ? [{ uploads: 500, size: 2 * MB, rate: 10_000 }] : []),
    ...(full ? [{ uploads: 100, size: 50 * MB, rate: 100_000 }] : []),
    { uploads: 100, size: 50 * MB, rate: 100_000, lengthKnown: false },
  ]) {
    const [slow, beside] = simulateCrowds([crowd, quick], { budget, storeRate }).results as [
      CrowdResult,
      CrowdResult,
    ];
    const share = beside.goodput / alone.goodput;
    t.comment(
      `beside ${crowd.uploads} of ${crowd.size} bytes at ${crowd.rate} B/s: ${share.toFixed(2)} of ` +
        `${(alone.goodput / MB).toFixed(0)} MB/s; the slow ones took ${slow.seconds.toFixed(0)} s`,
    );
    t.equal(slow.cut + beside.cut, 0, 'nobody is refused');
    t.ok(share >= 0.85, `the fast ones keep ${share} of their speed`);
  }
});
