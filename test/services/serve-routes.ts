import type { Test } from 'tap';
import { startHttpServer } from '#server/http/http-server.ts';
import type { HttpServerOptions } from '#server/http/http-types.ts';
import { silentLog } from './silent-log.ts';

export interface ServeOptions extends Partial<Omit<HttpServerOptions, 'routes' | 'log'>> {
  readonly log?: ReturnType<typeof silentLog>;
}

/** Answers the length of the body. */
export const countRoute: HttpServerOptions['routes'][number] = {
  method: 'POST',
  path: '/count',
  transfersBytes: true,
  handler: ({ body }) =>
    new Promise((resolve, reject) => {
      let size = 0;
      body.consume({
        write(chunk) {
          size += chunk.byteLength;
          return true;
        },
        end: () => resolve({ status: 200, body: `size=${size}` }),
        fail: reject,
      });
    }),
};

/** Routes behind an HTTP server of ours on a port of its own, for as long as the test. */
export async function serveRoutes(
  t: Pick<Test, 'teardown'>,
  routes: HttpServerOptions['routes'],
  { log = silentLog(), ...options }: ServeOptions = {},
) {
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    trustedProxies: undefined,
    corsOrigins: ['*'],
    bodyIdleTimeout: 60_000,
    requestTimeout: 60_000,
    ...options,
    routes,
    log,
  });
  t.teardown(() => server.close(0));
  return { server, log, baseUrl: `http://127.0.0.1:${server.port}` };
}
