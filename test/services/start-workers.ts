import type { Test } from 'tap';
import { call, structureOf } from './record-client.ts';
import { type Sluice, sluiceFor } from './start-sluice.ts';
import { until } from './worker-pids.ts';

const structure = structureOf('many', 'things', [{ name: 'n', type: 'NUMBER' }]);
let databases = 0;

/** Two workers over a ClickHouse server, in a database of their own, for as long as the test. */
export async function startWorkers(
  t: Test,
  server: string,
  env: Record<string, string> = {},
): Promise<Sluice> {
  const sluice = await sluiceFor(t, {
    env: {
      CLICKHOUSE_URL: server,
      CLICKHOUSE_DATABASE: `workers_${++databases}`,
      WORKERS: '2',
      LOG_LEVEL: 'debug',
      ...env,
    },
  });
  return sluice;
}

/** Asks on a connection of its own, so that any worker may get it. */
export function find(sluice: Sluice, token = sluice.token): ReturnType<typeof call> {
  const headers = { connection: 'close' };
  return call({ baseUrl: sluice.baseUrl, token, path: '/many/things', structure, headers });
}

/** The workers that answered something, as their log says. @param after length of the log before */
export function answering(sluice: Sluice, after = 0): Set<number> {
  const lines = sluice.stderr().slice(after).split('\n');
  const answered = lines.filter((line) => line.includes('"msg":"answered"') && line.endsWith('}'));
  return new Set(answered.map((line) => (JSON.parse(line) as { worker: number }).worker));
}

/** The text of every answer may come some time after the lines that tell of it. */
export async function untilBothAnswer(sluice: Sluice): Promise<void> {
  const after = sluice.stderr().length;
  await until(async () => {
    await find(sluice);
    return answering(sluice, after).size === 2;
  });
}
