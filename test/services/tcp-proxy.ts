import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type CutKind, type LinkSettings, TcpLink } from './tcp-link.ts';

export type { CutKind, LinkSettings } from './tcp-link.ts';

/** One accepted connection and its own to the target. */
export interface ProxiedConnection {
  /** 1 for the first of the proxy. */
  readonly id: number;
  readonly toTarget: TcpLink;
  readonly toClient: TcpLink;
  /** Resolves when both sockets are closed. */
  readonly closed: Promise<void>;
  /**
   * Closes both sockets: in order, or with RST, which discards what is under way. To a node client a reset that comes
   * right behind data looks like an orderly end, as libuv reads the hang-up first; and a sender whose bytes were left
   * unread is reset by the kernel either way.
   */
  cut(kind: CutKind): void;
}

export interface TcpProxyOptions {
  /** May be changed: connections that are accepted from then on lead to another server. */
  readonly target: { readonly host: string; readonly port: number };
  readonly toTarget?: LinkSettings;
  readonly toClient?: LinkSettings;
  /** Called for each connection before a byte goes either way. */
  readonly onConnection?: (connection: ProxiedConnection) => void;
}

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  /** For HTTP targets. */
  readonly url: string;
  /** The open ones, oldest first. */
  connections(): ProxiedConnection[];
  /** Changes a direction of the connections that are open and of those to come. */
  set(direction: 'toTarget' | 'toClient', changes: LinkSettings): void;
  close(): Promise<void>;
}

/** Stands between a client and a server on loopback, and slows, stops or cuts what they say. */
export async function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const settings = { toTarget: options.toTarget ?? {}, toClient: options.toClient ?? {} };
  const open = new Set<ProxiedConnection>();
  let ids = 0;
  // half-open: a client that has said everything still waits for its answer
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const target = connect({ ...options.target, allowHalfOpen: true, noDelay: true });
    const connection = joinSockets(++ids, client, target);
    open.add(connection);
    void connection.closed.then(() => open.delete(connection));
    connection.toTarget.set(settings.toTarget);
    connection.toClient.set(settings.toClient);
    options.onConnection?.(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: '127.0.0.1',
    port,
    url: `http://127.0.0.1:${port}`,
    connections: () => [...open],
    set(direction, changes) {
      settings[direction] = { ...settings[direction], ...changes };
      for (const connection of open) connection[direction].set(changes);
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const connection of open) connection.cut('rst');
      await closed;
      await Promise.all([...open].map((connection) => connection.closed));
    },
  };
}

function joinSockets(id: number, client: Socket, target: Socket): ProxiedConnection {
  let isCut = false;
  const cut = (kind: CutKind): void => {
    isCut = true;
    for (const socket of [client, target]) {
      // what is in the kernel's hands still arrives, then FIN
      if (kind === 'fin') socket.destroySoon();
      // while a socket says its FIN it can't be reset, and node would never tell that it is closed
      else if (socket.writableEnded && !socket.writableFinished) socket.destroy();
      else socket.resetAndDestroy();
    }
  };
  for (const [socket, other] of [
    [client, target],
    [target, client],
  ] as const) {
    // a reset on one side becomes a reset on the other
    socket.on('error', () => cut('rst'));
    socket.once('close', () => {
      if (!isCut) other.destroySoon();
    });
  }
  return {
    id,
    toTarget: new TcpLink(client, target, cut),
    toClient: new TcpLink(target, client, cut),
    closed: Promise.all([closeOf(client), closeOf(target)]).then(() => undefined),
    cut,
  };
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
