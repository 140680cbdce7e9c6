import type * as Uws from 'uWebSockets.js';
import { createServer, isIP } from 'node:net';

/**
 * LIBUS_LISTEN_EXCLUSIVE_PORT of uSockets. Without it the socket gets SO_REUSEPORT, and two such processes silently share
 * the port.
 */
const listenFlags = { exclusive: 1, shared: 0 } as const;

/**
 * Listens on an address. Rejects if that fails: `exclusive`, because another process listens there; `shared`, because
 * another process listens there exclusively.
 */
export function listenOn(
  app: Uws.TemplatedApp,
  { host, port }: { readonly host: string; readonly port: number },
  mode: keyof typeof listenFlags,
): Promise<Uws.us_listen_socket> {
  // the typings lack the overload with host, port and options, which the native module has
  const listen = app.listen.bind(app) as unknown as (
    host: string,
    port: number,
    options: number,
    callback: (token: Uws.us_listen_socket | false) => void,
  ) => void;
  return new Promise((resolve, reject) => {
    listen(host, port, listenFlags[mode], (token) => {
      if (token !== false) return resolve(token);
      const address = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
      void whyNotListening(host, port).then((reason) =>
        reject(new Error(`${address} can't be listened on: ${reason}`)),
      );
    });
  });
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'it is not an address of this machine',
  ENOTFOUND: 'there is no such host',
  EACCES:
    'this user may not listen there; for ports below 1024 use a higher PORT behind a proxy, or CAP_NET_BIND_SERVICE',
};

/** Why listening on an address fails. The native server does not say, so this tries it with node:net. */
function whyNotListening(host: string, port: number): Promise<string> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(reasons[code] ?? code));
    // the other program may have ended meanwhile
    probe.listen({ host, port, exclusive: true }, () =>
      probe.close(() => resolve('another program listened there')),
    );
  });
}
