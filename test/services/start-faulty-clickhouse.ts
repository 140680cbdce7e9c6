import { type ClickhouseAddress, openAddress } from './clickhouse-address.ts';
import {
  type ClickhouseProcess,
  type ClickhouseProcessOptions,
  startClickhouse,
} from './start-clickhouse.ts';

/** A server whose address is one at which things can go wrong. */
export interface FaultyClickhouse
  extends ClickhouseAddress,
    Pick<ClickhouseProcess, 'dataDir' | 'pid' | 'kill'> {
  /** Starts it anew on the same data, at the same address. */
  restart(): Promise<void>;
}

export async function startFaultyClickhouse(
  options: ClickhouseProcessOptions = {},
): Promise<FaultyClickhouse> {
  let server = await startClickhouse(options);
  const { dataDir, pid } = server;
  const address = await openAddress(server.url);
  const { close } = address;
  return Object.assign(address, {
    dataDir,
    pid,
    async kill() {
      await address.set({ kind: 'dead' });
      await server.kill();
    },
    async restart() {
      server = await server.restart();
      await address.set(null);
    },
    async close() {
      await close();
      await server.close();
    },
  });
}
