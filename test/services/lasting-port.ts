import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what Linux gives to outgoing connections (net.ipv4.ip_local_port_range), which could take it meanwhile. */
const range = [20_000, 32_000] as const;

/** A port on loopback for a server that goes and comes back to it. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(...range);
    const server = createServer();
    server.listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      // somebody has it
      continue;
    }
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
