import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** What goes wrong at an address, for as long as it is set. */
export type AddressFault =
  /** Nothing listens any more. */
  | { readonly kind: 'dead' }
  /** A status of its own, with an exception code of the engine or without one; nothing runs. */
  | { readonly kind: 'status'; readonly status: number; readonly body: string; readonly code?: number }
  /** The connection is reset before the statement runs, or when it has run. */
  | { readonly kind: 'cut-before' | 'cut-after' }
  /** The connection is reset in the middle of the answer. */
  | { readonly kind: 'cut-middle' }
  /** Statements arrive, and there is no answer. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'delay'; readonly milliseconds: number };

/** Another address of a ClickHouse server, at which things go wrong while the server is well. */
export interface ClickhouseAddress {
  readonly url: string;
  /** The statements that came, without the engine's own look at what runs; the first characters of each. */
  readonly seen: string[];
  /** How many statements each kind of fault struck. */
  readonly struck: Map<string, number>;
  set(fault: AddressFault | null): Promise<void>;
  /** Only statements that match are struck; undefined: all. */
  match: RegExp | undefined;
  /** Until `SYSTEM SYNC REPLICA` was asked for, reads see another table: what a replica had some time ago. */
  lag: { readonly table: string; readonly old: string } | null;
  close(): Promise<void>;
}

const shown = 200;

/** @param target address of the server @param tls serves HTTPS */
export async function openAddress(
  target: string,
  tls?: { readonly cert: Buffer; readonly key: Buffer },
): Promise<ClickhouseAddress> {
  const agent = new Agent({ keepAlive: true });
  const sockets = new Set<Duplex>();
  const address = { seen: [] as string[], struck: new Map<string, number>() } as {
    -readonly [Key in keyof ClickhouseAddress]: ClickhouseAddress[Key];
  };
  address.lag = null;
  address.match = undefined;
  let fault: AddressFault | null = null;

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    let body = Buffer.concat(chunks);
    const statement = body.subarray(0, shown).toString('utf8');
    address.seen.push(statement);
    const strikes = fault !== null && (address.match?.test(statement) ?? true);
    const now = strikes ? fault : null;
    if (now !== null) address.struck.set(now.kind, (address.struck.get(now.kind) ?? 0) + 1);
    if (now?.kind === 'silent') return;
    if (now?.kind === 'cut-before') return void incoming.socket.resetAndDestroy();
    if (now?.kind === 'status') {
      const head = now.code === undefined ? {} : { 'X-ClickHouse-Exception-Code': String(now.code) };
      return void response.writeHead(now.status, head).end(now.body);
    }
    if (now?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, now.milliseconds));
    if (statement.startsWith('SYSTEM SYNC REPLICA')) {
      address.lag = null;
      return void response.end();
    }
    const { lag } = address;
    if (lag !== null && statement.startsWith('SELECT')) {
      body = Buffer.from(body.toString('utf8').replaceAll(lag.table, lag.old));
    }
    const { host, ...headers } = incoming.headers;
    delete headers['transfer-encoding'];
    const url = new URL(incoming.url ?? '/', target);
    const out = request(url, {
      agent,
      method: incoming.method ?? 'POST',
      headers: { ...headers, 'content-length': body.byteLength },
    });
    out.on('error', () => incoming.socket.destroy());
    out.end(body);
    const [result] = (await once(out, 'response')) as [IncomingMessage];
    if (now?.kind === 'cut-after') {
      result.resume();
      await once(result, 'end');
      return void incoming.socket.resetAndDestroy();
    }
    response.writeHead(result.statusCode ?? 500, result.headers);
    if (now?.kind !== 'cut-middle') return void result.pipe(response);
    response.flushHeaders();
    const part = ((await once(result, 'data')) as [Buffer])[0];
    response.write(part.subarray(0, part.byteLength >> 1), () => incoming.socket.destroy());
    result.destroy();
  };

  let server: Server;
  const listen = async (port: number): Promise<number> => {
    const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
      response.on('error', () => {});
      answer(incoming, response).catch(() => incoming.socket.destroy());
    };
    server = tls === undefined ? createServer(handle) : (createTlsServer(tls, handle) as unknown as Server);
    server.keepAliveTimeout = 10_000;
    server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Duplex) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const unlisten = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const port = await listen(0);
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  return Object.assign(address, {
    url,
    async set(next: AddressFault | null) {
      const silent = fault?.kind === 'silent';
      fault = next;
      if (next?.kind === 'dead') {
        address.struck.set('dead', (address.struck.get('dead') ?? 0) + 1);
        await unlisten();
      } else if (!server.listening) await listen(port);
      // waits for a silent server would never end
      if (silent) for (const socket of sockets) socket.destroy();
    },
    async close() {
      await unlisten();
      agent.destroy();
    },
  });
}
