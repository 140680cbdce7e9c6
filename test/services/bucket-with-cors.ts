import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface BucketWithCors {
  readonly url: string;
  /** Bytes of bodies that clients sent. */
  received(): number;
  /** Whether the bucket has CORS rules; without `etags` a page sees no header of an answer. */
  allow(rules: { readonly pages: boolean; readonly etags?: boolean }): void;
}

/** A way to an S3 server without CORS, at another origin, with the rules that `bucket --fix` sets. Host stays, as it is signed. */
export async function bucketWithCors(t: Pick<Test, 'teardown'>, endpoint: string): Promise<BucketWithCors> {
  const { port } = new URL(endpoint);
  let rules = { pages: true, etags: true };
  let received = 0;
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    const allowed: Record<string, string> = {};
    if (rules.pages && headers.origin !== undefined) {
      allowed['access-control-allow-origin'] = headers.origin;
      if (rules.etags) allowed['access-control-expose-headers'] = 'ETag';
    }
    if (method === 'OPTIONS') {
      const names = headers['access-control-request-headers'];
      response.writeHead(rules.pages ? 204 : 403, {
        ...allowed,
        'access-control-allow-methods': 'PUT',
        ...(names && { 'access-control-allow-headers': names }),
      });
      return void response.end();
    }
    incoming.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    const target = send({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { ...(rules.etags && answer.headers), ...allowed });
      answer.pipe(response);
    });
    target.on('error', () => response.destroy());
    response.on('close', () => target.destroy());
    incoming.pipe(target);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    allow: ({ pages, etags = true }) => {
      rules = { pages, etags };
    },
  };
}
