import type { FileSession, Sender } from '#load/files/file-session.ts';
import { Connection } from '#load/http/connection.ts';

/** Files of a load go to a server over one connection an origin, one request at a time. */
export function fileSessionTo(url: string, token: string): FileSession & { close(): void } {
  const connections = new Map<string, Promise<Connection>>();
  const senderOf = (origin: string): Sender => ({
    async send(...call) {
      const known = await connections.get(origin);
      const open = known?.closed === false ? Promise.resolve(known) : Connection.open(origin);
      connections.set(origin, open);
      return (await open).send(...call);
    },
  });
  return {
    seed: 7,
    url,
    base: '/_f_/load',
    token,
    senderOf,
    files: {},
    close: () => connections.forEach((open) => void open.then((connection) => connection.close())),
  };
}
