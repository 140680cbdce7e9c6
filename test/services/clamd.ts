import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { ClamdAddress } from '#gateway/scan/clamd-stream.ts';
import { Scanner } from '#gateway/scan/scanner.ts';
import { freePorts } from './free-port.ts';
import { tiedCommand } from './tied-command.ts';
import { type WatchedChild, watchChild } from './watch-child.ts';

/** A harmless text that the signature database of the tests knows. */
export const badText = 'a made-up text that Sluice tests take for malware';
export const badSignature = 'Sluice.Test.UNOFFICIAL';

/** A real clamd on loopback, with one signature. */
export interface ClamdServer {
  readonly address: ClamdAddress;
  /** CLAMD_ADDRESS. */
  readonly text: string;
  /** The same by its socket file. */
  readonly socket: string;
  kill(): Promise<void>;
  /** After `kill`: again at the same address. */
  start(): Promise<void>;
  /** It takes connections and bytes, and does nothing with them. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/**
 * Starts the clamd of the system: throws where there is none, so that no test passes without it.
 * @param options.lines of its configuration
 */
export async function startClamd({ lines = [] as readonly string[] } = {}): Promise<ClamdServer> {
  const program = ['/usr/sbin/clamd', 'clamd'].find((path) => spawnSync(path, ['--version']).status === 0);
  if (program === undefined)
    throw new Error('clamd is not installed: apt-get install --no-install-recommends clamav-daemon');
  const port = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clamd-'));
  const database = join(folder, 'db');
  const socket = join(folder, 'clamd.sock');
  await mkdir(database);
  const hex = Buffer.from(badText).toString('hex');
  await writeFile(join(database, 'sluice.ndb'), `Sluice.Test:0:*:${hex}\n`);
  const config = join(folder, 'clamd.conf');
  const settings = [
    ...['Foreground yes', `DatabaseDirectory ${database}`, `TemporaryDirectory ${folder}`],
    ...[`TCPSocket ${port}`, 'TCPAddr 127.0.0.1', `LocalSocket ${socket}`, 'FixStaleSocket yes'],
    ...[`User ${userInfo().username}`, ...lines],
  ];
  await writeFile(config, `${settings.join('\n')}\n`);
  let child: WatchedChild | null = null;
  const address = { host: '127.0.0.1', port };
  const start = async (): Promise<void> => {
    const command = tiedCommand([program, '-c', config]);
    child = watchChild(spawn(...command, { stdio: ['ignore', 'pipe', 'pipe'] }), 'clamd');
    await child.untilReady(() => scannerAt(address).answers());
  };
  const kill = async (): Promise<void> => {
    await child?.end('SIGKILL');
    child = null;
  };
  await start();
  return {
    address,
    text: `127.0.0.1:${port}`,
    socket,
    kill,
    start,
    pause: () => void child?.process.kill('SIGSTOP'),
    resume: () => void child?.process.kill('SIGCONT'),
    async stop() {
      child?.process.kill('SIGCONT');
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const quiet = { info() {}, warn() {} };

export function scannerAt(
  address: ClamdAddress,
  more: Partial<ConstructorParameters<typeof Scanner>[0]> = {},
): Scanner {
  return new Scanner({ address, maxBytes: 100_000_000, verdictTimeout: 20_000, log: quiet, ...more });
}

/** What a scanner that fails does with a connection. @param command without NUL, once it has come */
export type Fault = (socket: Socket, command: string) => void;

/** A scanner that only fails: what clamd can't be made to do. */
export async function startFaultyScanner(t: Test, fault: Fault): Promise<ClamdAddress> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', (chunk: Buffer) => fault(socket, chunk.toString('latin1').split('\0')[0] ?? ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}
