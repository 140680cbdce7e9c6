import { startRedis } from '../../../test/services/redis.ts';
import { startS3Stub } from '../../../test/services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../../../test/services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../../../test/services/start-clickhouse.ts';
import { offsetAt } from '../../../test/services/tus-client.ts';
import { endsWell, stall } from '../load/stalled-upload.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Finding } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

/**
 * Uploads stall at one gateway, and their clients reconnect to another gateway with the same Redis, ClickHouse and S3: how
 * long do they wait? The store is the stub of the tests, because the sink stores no bytes.
 */
export async function returnElsewhere(bench: Bench): Promise<Finding> {
  const [clickhouse, redis, stub] = await Promise.all([startClickhouse(), startRedis(), startS3Stub()]);
  const env = { ...stubSettings(stub), CLICKHOUSE_URL: clickhouse.url, REDIS_URL: redis.url };
  const start = () => startSluice({ ...bench, store: 'fs', env });
  try {
    return await withSubjects([start, start], async (gateways) => {
      const [one, two] = gateways as [Subject, Subject];
      const waits: number[] = [];
      const problems: string[] = [];
      for (let index = 0; index < (bench.quick ? 10 : 50); index++) {
        const { path, socket } = await stall(one.target, index);
        const begun = performance.now();
        const offset = await offsetAt(two.target, path);
        waits.push(performance.now() - begun);
        if (!(await endsWell(two.target, path, index, offset))) problems.push(`upload ${index} is not whole`);
        socket.destroy();
      }
      const worst = Math.max(...waits) / 1000;
      return {
        measure: 'U12',
        what: 'a client that comes back to another gateway waits',
        subject: `the longest of ${waits.length}`,
        baseline: '',
        goal: { bound: 'below', first: 2, aim: 0.2, unit: ' s' },
        value: worst,
        shown: `${worst.toFixed(2)} s`,
        problems,
        details: { milliseconds: waits },
      };
    });
  } finally {
    await Promise.all([clickhouse.close(), redis.stop(), stub.close()]);
  }
}
