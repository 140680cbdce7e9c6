/**
 * Question: how late do writes of one process reach a live query of another (goal Q23, served)? One ClickHouse
 * server, one Redis, two query processes and load on one machine.
 */
import { parseArgs } from 'node:util';
import { startRedis } from '../../test/services/redis.ts';
import { startClickhouse } from '../../test/services/start-clickhouse.ts';
import { startService } from '../query/direct-store.ts';
import { delayOf, openStreams, write } from '../query/live-load.ts';
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
const town = (number: number): string => `town-${number % count}`;
try {
  await write(writing.ready, { connections: 8, seconds: 2, from: 1, cityOf: () => 'elsewhere' });
  const delays: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const queries = Array.from({ length: count }, (_, at) => `city=town-${at}`);
    const streams = await openStreams(listening.ready, queries);
    const from = round * 1_000_000;
    const written = await write(writing.ready, { connections: 32, seconds, rate, from, cityOf: town });
    const delay = await delayOf(streams.heard, written);
    streams.close();
    delays.push(delay);
    console.log(`round ${round}: ${Math.round(written.perSecond)} writes/s, p99 ${delay.toFixed(1)} ms`);
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
