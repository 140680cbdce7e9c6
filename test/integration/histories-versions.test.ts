/**
 * A cache on the versions of spaces (query/records/space-versions.ts), put before two sets of routes over one database:
 * histories through it are linearizable when it reads the version before it asks, and the check finds it when it does not.
 */
import t, { type Test } from 'tap';
import type { SpaceVersions } from '../../query/records/space-versions.ts';
import { createLocalReservations } from '../../query/unique/unique-reservations.ts';
import { createLocalVersions } from '../services/local-versions.ts';
import { openQueryHarness } from '../services/query-harness.ts';
import { recordHistory, requestedHistory, type Send } from '../services/record-history.ts';

const { operations, seed } = requestedHistory({ usual: 1200, full: 20_000 });
t.setTimeout(300_000 + operations * 30);
const attempts = 12;

interface VersionCache {
  readonly versions: SpaceVersions;
  readonly spaceId: () => Promise<string>;
  /** The way to be wrong that has to be found. */
  readonly versionAfterEngine: boolean;
  hits: number;
}

function through(send: Send, cache: VersionCache): Send {
  const kept = new Map<string, Awaited<ReturnType<Send>>>();
  return async (call) => {
    if (call.method !== undefined || call.body !== undefined) return send(call);
    const id = await cache.spaceId();
    const nameOf = async (): Promise<string> => `${await cache.versions.read(id)} ${JSON.stringify(call)}`;
    const before = await nameOf();
    const found = kept.get(before);
    if (found !== undefined) {
      cache.hits++;
      return found;
    }
    const answer = await send(call);
    kept.set(cache.versionAfterEngine ? await nameOf() : before, answer);
    return answer;
  };
}

async function open(test: Test, versionAfterEngine: boolean, slug: string) {
  const versions = createLocalVersions();
  const reservations = createLocalReservations();
  const harness = await openQueryHarness({
    ...{ alone: false, versions: () => versions, reservations: () => reservations },
  });
  test.teardown(() => harness.close());
  const spaceId = async (): Promise<string> => {
    const sql = `SELECT toString(id) AS id FROM sluice.record_spaces WHERE slug = '${slug}' LIMIT 1`;
    const [row] = await harness.db.rows<{ id: string }>({ sql });
    if (row === undefined) throw new Error('there is no such space');
    return row.id;
  };
  let known: Promise<string> | null = null;
  const cache: VersionCache = {
    versions,
    versionAfterEngine,
    hits: 0,
    spaceId: () => {
      known ??= spaceId();
      return known;
    },
  };
  // of each other they know the versions, and which unique values are being written
  const other = harness.another();
  const processes = [harness, other].map((routes) => through((call) => routes.call(call), cache));
  return { cache, processes, slug };
}

t.test('the version is read before the engine: histories are linearizable', async (t) => {
  const { cache, processes, slug } = await open(t, false, 'versions');
  const { problems, reads } = await recordHistory({ processes, operations, seed, slug });
  t.strictSame(problems, []);
  t.ok(cache.hits > 0, `${cache.hits} of ${reads} reads are answered from the cache`);
});

t.test('it is found when the version is read after the engine', async (t) => {
  for (let round = 0; round < attempts; round++) {
    const { processes, slug } = await open(t, true, `late-${round}`);
    const { problems } = await recordHistory({
      ...{ processes, slug, operations: 600, seed: seed + round, writeShare: 0.1 },
    });
    if (problems.length === 0) continue;
    t.comment(`history ${round + 1}: ${problems[0]}`);
    t.pass();
    return;
  }
  t.fail(`nothing was found in ${attempts} histories`);
});
