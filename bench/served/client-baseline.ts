import { createClient } from '@clickhouse/client';
import { median } from '../upload/harness/median.ts';
import { cpuSeconds } from '../upload/harness/process-usage.ts';
import type { Deployment, Round } from './deployment.ts';

let number = 0;

/**
 * What a find by two fields costs without Sluice: with the usual client, one connection per caller, and one statement per
 * find, which scans the space. `own` is the CPU time of this process.
 */
export async function measureClient(
  { engine }: Deployment,
  callers: number,
  seconds: number,
): Promise<Round> {
  const client = createClient({ url: engine.url, max_open_connections: callers });
  const before = { engine: cpuSeconds([engine.pid]), own: cpuSeconds([process.pid]) };
  const waits: number[] = [];
  const end = performance.now() + seconds * 1000;
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const began = performance.now();
      const [name, age] = [`Person ${number++ % 100_000}`, number % 100];
      const query = `SELECT _id, _doc FROM sluice.records WHERE t0 = '${name}' OR (n0 = ${age} AND t1 = '${name}') LIMIT 10`;
      await (await client.query({ query, format: 'JSONEachRow' })).json();
      waits.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  await client.close();
  const each = 1e6 / waits.length;
  return {
    perSecond: waits.length / seconds,
    p50: median(waits),
    parts: 0,
    bad: 0,
    engine: (cpuSeconds([engine.pid]) - before.engine) * each,
    own: (cpuSeconds([process.pid]) - before.own) * each,
  };
}
