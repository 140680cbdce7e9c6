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
import { setTimeout as sleep } from 'node:timers/promises';

/** What goes wrong with a statement. */
export type FaultAction =
  /** A status of its own, with an exception code of the engine or without one; nothing runs. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body: string | ((statement: string) => string);
      readonly code?: number;
    }
  /** The connection is reset before the statement runs, or when it has run. */
  | { readonly kind: 'cut-before' | 'cut-after' }
  /** The connection is reset while the statement runs, which goes on. */
  | { readonly kind: 'cut-and-run' }
  /** The connection is reset so far into the answer's data; absent: in the middle of its first piece. */
  | { readonly kind: 'cut-middle'; readonly bytes?: number }
  /** So far into the data the answer ends as the engine ends one when it fails, but with a whole encoding. */
  | { readonly kind: 'fail-middle'; readonly bytes: number }
  /** There is no answer: it does not arrive, or it runs. */
  | { readonly kind: 'silent' | 'run-silent' }
  | { readonly kind: 'delay'; readonly milliseconds: number }
  /** It runs when `release` is called. */
  | { readonly kind: 'hold' };

/** A fault of statements that match. */
export interface Fault {
  readonly match?: string | RegExp;
  /** How many it strikes; absent: one. */
  readonly times?: number;
  readonly action: FaultAction;
}

export interface SeenStatement {
  /** Its first characters. */
  readonly statement: string;
  readonly params: Record<string, string>;
  /** The header of that name. */
  readonly traceparent: string | undefined;
  /** 1 for the first connection. */
  readonly connection: number;
}

/** Another address of a ClickHouse server, at which things go wrong while the server is well. */
export interface ClickhouseAddress {
  readonly url: string;
  readonly seen: SeenStatement[];
  /** How many statements each kind of fault struck. */
  readonly struck: Map<string, number>;
  /** Goes wrong from now on; `dead`: nothing listens. Null: all is well. */
  set(fault: FaultAction | { readonly kind: 'dead' } | null): Promise<void>;
  /** Only statements that match are struck by it; undefined: all. */
  match: RegExp | undefined;
  fault(fault: Fault): void;
  /** Ends all faults, and forgets what was seen. */
  clear(): void;
  /** Lets what is held go on. */
  release(): void;
  /** Resolves when so many statements are held. */
  untilHeld(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Characters of a statement that faults look at, and that are kept. */
const shown = 2000;
/** Milliseconds until a server runs a statement that it gets. */
const begins = 100;
const failure = 'Code: 241. DB::Exception: made by a fault. (MEMORY_LIMIT_EXCEEDED)\n';

/** @param target address of the server @param tls serves HTTPS */
export async function openAddress(
  target: string,
  tls?: { readonly cert: Buffer; readonly key: Buffer },
): Promise<ClickhouseAddress> {
  const agent = new Agent({ keepAlive: true });
  const sockets = new Set<Duplex>();
  const numbers = new WeakMap<object, number>();
  let connections = 0;
  let lasting: FaultAction | null = null;
  let faults: { readonly pattern: RegExp; left: number; readonly action: FaultAction }[] = [];
  let held: (() => void)[] = [];

  const strike = (statement: string): FaultAction | null => {
    const fault = faults.find(({ pattern, left }) => left > 0 && pattern.test(statement));
    if (fault !== undefined) fault.left--;
    const always = address.match?.test(statement) === false ? null : lasting;
    const action = fault?.action ?? always;
    if (action !== null) address.struck.set(action.kind, (address.struck.get(action.kind) ?? 0) + 1);
    return action;
  };

  /** @param cut called when it runs */
  const send = async (
    incoming: IncomingMessage,
    body: Buffer,
    cut: (() => void) | null = null,
  ): Promise<IncomingMessage> => {
    const { host, ...headers } = incoming.headers;
    delete headers['transfer-encoding'];
    const out = request(new URL(incoming.url ?? '/', target), {
      agent,
      method: incoming.method ?? 'POST',
      headers: { ...headers, 'content-length': body.byteLength },
    });
    // an aborted request of a client is aborted at the server
    if (cut === null) incoming.socket.once('close', () => out.destroy());
    out.end(body);
    if (cut !== null) void sleep(begins).then(cut);
    return ((await once(out, 'response')) as [IncomingMessage])[0];
  };

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const params = Object.fromEntries(new URL(incoming.url ?? '/', target).searchParams);
    const statement = `${params.query ?? ''}${body.subarray(0, shown).toString('utf8')}`;
    const { traceparent } = incoming.headers as { traceparent?: string };
    address.seen.push({ statement, params, traceparent, connection: numbers.get(incoming.socket) ?? 0 });
    const now = strike(statement);
    const reset = (): void => void incoming.socket.resetAndDestroy();
    if (now?.kind === 'silent') return;
    if (now?.kind === 'cut-before') return reset();
    if (now?.kind === 'status') {
      const head = now.code === undefined ? {} : { 'X-ClickHouse-Exception-Code': String(now.code) };
      const text = typeof now.body === 'string' ? now.body : now.body(statement);
      return void response.writeHead(now.status, head).end(text);
    }
    if (now?.kind === 'delay') await sleep(now.milliseconds);
    if (now?.kind === 'hold') await new Promise<void>((resolve) => held.push(resolve));
    const result = await send(incoming, body, now?.kind === 'cut-and-run' ? reset : null);
    if (now?.kind === 'cut-and-run') return void result.resume();
    if (now?.kind === 'run-silent') {
      result.resume();
      await once(result, 'end');
      address.struck.set('ran', (address.struck.get('ran') ?? 0) + 1);
      return;
    }
    if (now?.kind === 'cut-after') {
      result.resume();
      await once(result, 'end');
      return reset();
    }
    response.writeHead(result.statusCode ?? 500, result.headers);
    if (now?.kind !== 'cut-middle' && now?.kind !== 'fail-middle') return void result.pipe(response);
    let left = now.bytes ?? Number.NaN;
    for await (const chunk of result as AsyncIterable<Buffer>) {
      const part = chunk.subarray(0, Number.isNaN(left) ? chunk.byteLength >> 1 : left);
      response.write(part);
      if (part.byteLength < chunk.byteLength) break;
      left -= part.byteLength;
    }
    if (now.kind === 'cut-middle') return void response.socket?.destroySoon();
    const tag = result.headers['x-clickhouse-exception-tag'] as string;
    const length = Buffer.byteLength(failure);
    response.end(`\r\n__exception__\r\n${tag}\r\n${failure}${length} ${tag}\r\n__exception__\r\n`);
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
      numbers.set(socket, ++connections);
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
  const address: ClickhouseAddress = {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    seen: [],
    struck: new Map(),
    match: undefined,
    async set(next) {
      const silent = lasting?.kind === 'silent';
      lasting = next === null || next.kind === 'dead' ? null : next;
      if (next?.kind === 'dead') {
        address.struck.set('dead', (address.struck.get('dead') ?? 0) + 1);
        await unlisten();
      } else if (!server.listening) await listen(port);
      // waits for a silent server would never end
      if (silent) for (const socket of sockets) socket.destroy();
    },
    fault({ match = '', times = 1, action }) {
      faults.push({ pattern: new RegExp(match), left: times, action });
    },
    clear() {
      faults = [];
      address.seen.length = 0;
      address.release();
    },
    release() {
      const waiting = held;
      held = [];
      for (const resume of waiting) resume();
    },
    async untilHeld(count) {
      while (held.length < count) await sleep(10);
    },
    async close() {
      await unlisten();
      agent.destroy();
    },
  };
  return address;
}
