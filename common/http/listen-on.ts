import type * as Uws from 'uWebSockets.js';
import { isIP } from 'node:net';
import { whyNotListening } from './why-not-listening.ts';

/**
 * LIBUS_LISTEN_EXCLUSIVE_PORT of uSockets; without it the socket gets SO_REUSEPORT, and two processes that listen so
 * share the port in silence.
 */
const listenFlags = { alone: 1, shared: 0 } as const;

/**
 * Listens on an address. Rejects when it can't be listened on: alone, when anybody else listens there; shared, when
 * somebody does who does not share.
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
