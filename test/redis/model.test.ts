/**
 * Random sequences of operations through two processes over one database and one Redis, against the model of the contract
 * (test/model). MODEL_SEQUENCES and TEST_SEED ask for more and for others.
 */
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { CacheOutages } from '#records/store-shared/cache-outages.ts';
import { RedisVersions } from '#records/store-shared/redis-versions.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import { checkSequences, requestedRuns } from '../model/check-sequences.ts';
import { type ConcurrentPlan, concurrentPlan } from '../model/concurrent-plan.ts';
import { runConcurrent } from '../model/run-concurrent.ts';
import { newTally, runSequence, type ServiceProcesses } from '../model/run-sequence.ts';
import { type SequencePlan, sequencePlan } from '../model/sequence-plan.ts';
import { openQueryHarness } from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';

const runs = requestedRuns(20);
t.setTimeout(2 * (120_000 + runs.sequences * 10_000));

const server = await startRedis();
const log = silentLog();
const connections: RedisConnection[] = [];
for (let process = 0; process < 2; process++) connections.push(await openRedis(server.config, log));
const opened: UniqueReservations[] = [];
let routers = 0;
/** The connection of the process whose routes are opened. */
const own = (): RedisConnection => connections[routers % 2] as RedisConnection;
const harness = await openQueryHarness({
  singleWriter: false,
  hasher: quickHasher(),
  // what one process changes the other goes by at once, instead of after the 10 s that are promised
  freshness: { freshFor: -1, staleAfter: -1 },
  reservations: () => {
    const reservations = new RedisReservations({ redis: own(), log, everUsed: async () => false });
    opened.push(reservations);
    return reservations;
  },
  versions: (db) => {
    const redis = own();
    routers++;
    return new RedisVersions({
      redis,
      log,
      outages: new CacheOutages({ db, database: 'sluice' }),
      times: { settledAfter: 0 },
    });
  },
});
const sets = [harness.another(), harness.another()];
const processes: ServiceProcesses = {
  count: 2,
  call: (index, call) => (sets[index] as (typeof sets)[number]).call(call),
  forget: () => {},
};
t.teardown(async () => {
  await Promise.all(opened.map((reservations) => reservations.close()));
  await Promise.all(connections.map((connection) => connection.close()));
  await harness.close();
  await server.stop();
});

t.test("two processes that share a Redis: every answer is the model's", async (t) => {
  const tally = newTally();
  let project = 0;
  const run = (plan: SequencePlan) => {
    const steps = plan.steps.filter(({ operation }) => operation !== 'forget');
    return runSequence({ ...plan, steps }, `p${project++}`, processes, tally);
  };
  await checkSequences(sequencePlan, runs, run, (line) => t.comment(line));
  t.equal(tally.sequences, runs.sequences);
  t.comment(`seed ${runs.seed}: ${tally.operations} operations`);
});

t.test('operations at once: some order of them explains what is left', async (t) => {
  const tally = newTally();
  let project = 0;
  const run = (plan: ConcurrentPlan) => runConcurrent(plan, `c${project++}`, processes, tally);
  await checkSequences(concurrentPlan, runs, run, (line) => t.comment(line));
  t.equal(tally.sequences, runs.sequences);
  t.comment(`seed ${runs.seed}: ${tally.operations} operations`);
});
