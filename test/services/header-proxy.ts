import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes requests on, and keeps the `traceparent` of each. */
export interface HeaderProxy {
  readonly url: string;
  readonly traceparents: readonly (string | undefined)[];
  close(): Promise<void>;
}

export async function startHeaderProxy(target: string): Promise<HeaderProxy> {
  const traceparents: (string | undefined)[] = [];
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, response) => {
    traceparents.push(incoming.headers.traceparent as string | undefined);
    // with the host that was asked for, which is signed
    const { method, url: path, headers } = incoming;
    const out = request({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    out.on('error', () => incoming.socket.destroy());
    incoming.pipe(out);
  });
  server.keepAliveTimeout = 20_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traceparents,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
