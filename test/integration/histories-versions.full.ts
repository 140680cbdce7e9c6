/**
 * Two sets of routes over one database keep results by the versions of spaces (query/records/store-shared/versioned-cache.ts): histories
 * are linearizable, and the check finds it when writers tell others too early, too late, or not at all.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import type { SpaceVersions } from '#records/store-shared/space-versions.ts';
import { createLocalReservations } from '#records/unique/unique-reservations.ts';
import { createLocalVersions } from '../services/local-versions.ts';
import { openQueryHarness } from '../services/query-harness.ts';
import { recordHistory, requestedHistory, type Send } from '../services/record-history.ts';

const { operations, seed } = requestedHistory({ usual: 1200, full: 20_000 });
t.setTimeout(300_000 + operations * 30);
const attempts = 12;

async function open(
  test: Test,
  versions: SpaceVersions,
): Promise<{ processes: Send[]; counts: CacheCounts }> {
  const reservations = createLocalReservations();
  const counts = new CacheCounts();
  const harness = await openQueryHarness({
    singleWriter: false,
    versions: () => versions,
    reservations: () => reservations,
    metrics: {
      ...unmeasured,
      cache: (name) => (name === 'records' ? counts : new CacheCounts()),
    },
  });
  test.teardown(() => harness.close());
  // of each other they know the versions, and which unique values are being written
  const other = harness.another();
  return { processes: [harness, other].map((routes) => (call) => routes.call(call)), counts };
}

t.test('histories are linearizable', async (t) => {
  const { processes, counts } = await open(t, createLocalVersions());
  const { problems, reads } = await recordHistory({ processes, operations, seed, slug: 'versions' });
  t.strictSame(problems, []);
  t.ok(counts.hits > 0, `${counts.hits} of ${reads} reads are answered from the cache`);
});

const local = createLocalVersions();
const breaks: readonly { readonly name: string; readonly begin: SpaceVersions['begin'] }[] = [
  { name: 'not at all', begin: async () => async () => {} },
  {
    name: 'too early',
    begin: async (id) => {
      await (await local.begin(id))();
      return async () => {};
    },
  },
  {
    // a read that saw the write may be followed by one that does not
    name: 'only when others may have seen the write',
    begin: async (id) => async () => {
      await sleep(20);
      await (await local.begin(id))();
    },
  },
];
for (const { name, begin } of breaks) {
  t.test(`it is found when writers change versions ${name}`, async (t) => {
    // one for all rounds: a process opens one data directory at a time
    const { processes } = await open(t, { read: (id) => local.read(id), begin });
    for (let round = 0; round < attempts; round++) {
      const slug = `broken-${round}`;
      const { problems } = await recordHistory({
        processes,
        slug,
        operations: 600,
        seed: seed + round,
        writeShare: 0.1,
      });
      if (problems.length === 0) continue;
      t.comment(`history ${round + 1}: ${problems[0]}`);
      t.pass();
      return;
    }
    t.fail(`nothing was found in ${attempts} histories`);
  });
}
