import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Ports next to each other on loopback that nobody listens on: the first of them. For servers that can't take port 0. */
export async function freePorts(count: number): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const first = await listen(0);
    const next = await Promise.all(
      Array.from({ length: count - 1 }, (_, index) => listen(first.port + index + 1).catch(() => null)),
    );
    await Promise.all([first, ...next].map((held) => held?.close()));
    if (!next.includes(null)) return first.port;
  }
  throw new Error(`no ${count} free ports next to each other`);
}

async function listen(port: number): Promise<{ port: number; close(): Promise<unknown> }> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
