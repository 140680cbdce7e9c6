/**
 * Question: how late do writes of one process reach a live query of another (goal Q23, served)? One ClickHouse
 * server, one Redis, two query processes and load on one machine.
 */
import { parseArgs } from 'node:util';
import { startRedis } from '../../test/services/redis.ts';
import { startClickhouse } from '../../test/services/start-clickhouse.ts';
import { startService } from '../query/direct-store.ts';
import { runLive } from '../query/live-load.ts';
import { median } from '../upload/harness/median.ts';
import { makeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    rate: { type: 'string', default: '200' },
    streams: { type: 'string', default: '100' },
  },
});
const [rounds, seconds, rate, count] = [values.rounds, values.seconds, values.rate, values.streams].map(
  Number,
) as [number, number, number, number];
const engine = await startClickhouse();
const redis = await startRedis();
const env = { CLICKHOUSE_URL: engine.url, REDIS_URL: redis.url };
const [listening, writing] = [
  await startService(makeTemporaryDirectory(), env),
  await startService(makeTemporaryDirectory(), env),
];
try {
  await runLive(writing.ready, { seconds: 2, concurrency: 8 });
  const delays: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const load = { seconds, rate, cities: count, streams: count, listening: listening.ready };
    const { perSecond, live } = await runLive(writing.ready, load);
    if (live === null || live.delay === null) throw new Error('no event came of a write');
    delays.push(live.delay.p99);
    console.log(`round ${round}: ${Math.round(perSecond)} writes/s, p99 ${live.delay.p99.toFixed(1)} ms`);
  }
  console.log(
    `${count} streams, ${rate} writes/s of another process: p99 ${median(delays).toFixed(1)} ms (goal: 250, 100)`,
  );
} finally {
  await listening.stop();
  await writing.stop();
  await redis.stop();
  await engine.close();
}
