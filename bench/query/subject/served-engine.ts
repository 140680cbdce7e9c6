import { startClickhouse } from '../../../test/services/start-clickhouse.ts';

/** A ClickHouse server on an empty folder. */
export interface ServedEngine {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startServedEngine(): Promise<ServedEngine> {
  const log = '<part_log><database>system</database><table>part_log</table></part_log>';
  const { url, pid, close } = await startClickhouse({ config: log });
  return { url, pid, stop: close };
}
