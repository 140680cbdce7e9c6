import { createServer } from 'node:net';

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'it is not an address of this machine',
  ENOTFOUND: 'there is no such host',
  EACCES:
    'this user may not listen there; for ports below 1024 use a higher PORT behind a proxy, or CAP_NET_BIND_SERVICE',
};

/** Why an address can't be listened on, which the native server does not say: the same is tried with node:net. */
export function whyNotListening(host: string, port: number): Promise<string> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(reasons[code] ?? code));
    // in between somebody may have left it
    probe.listen({ host, port, exclusive: true }, () =>
      probe.close(() => resolve('another program listened there')),
    );
  });
}
