import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

interface Backend {
  readonly address: string;
  readonly agent: Agent;
  ready: boolean;
  /** Checks in a row that got no answer. */
  unanswered: number;
  /** What the last check found. */
  found: string;
}

const checkInterval = 50;
const checkTimeout = 1000;
/** One on a busy machine may come to nothing; a 503 counts at once. */
const unansweredChecks = 3;
const attempts = 3;

/**
 * A stand-in for a load balancer: round robin over the processes of a kind that are ready. Sends what is below /_f_/ to the gateways and the rest to the query processes, without buffering bodies. It sends a
 * request again only when its connection was refused, or when it is a GET or HEAD that got nothing.
 */
export async function startLoadBalancer(args: { gateways: readonly string[]; queries: readonly string[] }) {
  const backend = (address: string): Backend => ({
    address,
    agent: new Agent({ keepAlive: true, maxFreeSockets: 16 }),
    ready: false,
    unanswered: 0,
    found: 'nothing yet',
  });
  const pools = { gateways: args.gateways.map(backend), queries: args.queries.map(backend) };
  const all = [...pools.gateways, ...pools.queries];
  const faults: string[] = [];
  let turn = 0;
  let retried = 0;

  const check = async (backend: Backend): Promise<void> => {
    try {
      const signal = AbortSignal.timeout(checkTimeout);
      const response = await fetch(`${backend.address}/readyz`, { signal, headers: { connection: 'close' } });
      backend.found = `${response.status} ${await response.text()}`;
      backend.ready = response.status === 200;
      backend.unanswered = 0;
    } catch (error) {
      backend.found = String((error as Error).cause ?? error);
      backend.unanswered++;
      if (backend.unanswered >= unansweredChecks) backend.ready = false;
    }
  };
  let closed = false;
  const watch = async (backend: Backend): Promise<void> => {
    while (!closed) {
      await check(backend);
      await new Promise((resolve) => setTimeout(resolve, checkInterval));
    }
  };
  const watching = all.map(watch);

  const refuse = (response: ServerResponse, status: number, why: string): void => {
    faults.push(why);
    if (response.headersSent) response.destroy();
    else response.writeHead(status, { connection: 'close' }).end(why);
  };

  const forward = (incoming: IncomingMessage, response: ServerResponse, attempt: number): void => {
    const { method = 'GET', url = '/' } = incoming;
    const pool = url.startsWith('/_f_/') ? pools.gateways : pools.queries;
    const ready = pool.filter((candidate) => candidate.ready);
    const chosen = ready[turn++ % Math.max(1, ready.length)];
    if (chosen === undefined) {
      const found = pool.map((candidate) => `${candidate.address}: ${candidate.found}`);
      refuse(response, 503, `${method} ${url}: nobody is ready (${found.join('; ')})`);
      return;
    }
    let started = false;
    let answered = false;
    const outgoing = request(chosen.address + url, {
      method,
      agent: chosen.agent,
      headers: incoming.headers,
    });
    outgoing.on('socket', (socket: Socket) => {
      const start = (): void => {
        started = true;
        incoming.pipe(outgoing);
      };
      // nothing of the body is taken before there is a connection for it
      if (socket.connecting) socket.once('connect', start);
      else start();
    });
    outgoing.on('response', (answer) => {
      answered = true;
      const { connection: _connection, 'keep-alive': _keepAlive, ...headers } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, headers);
      answer.pipe(response);
      answer.on('aborted', () => {
        faults.push(`${method} ${url}: the answer broke off`);
        response.destroy();
      });
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // once it has answered, a body that it no longer takes is no fault
      if (answered) return;
      const again = !started || ((method === 'GET' || method === 'HEAD') && !answered);
      if (again && attempt < attempts) {
        retried++;
        forward(incoming, response, attempt + 1);
      } else refuse(response, 502, `${method} ${url}: ${error.code ?? error.message}`);
    });
    response.once('close', () => {
      if (!response.writableFinished) outgoing.destroy();
    });
  };

  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, (incoming, response) =>
    forward(incoming, response, 1),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What it had to answer itself: 502, 503. */
    faults,
    /** Requests that it sent a second time. */
    retried: () => retried,
    /** Resolves when the process at the address is ready, or is not. */
    async until(address: string, ready: boolean): Promise<void> {
      const backend = all.find((candidate) => candidate.address === address);
      while (backend?.ready !== ready) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    async close() {
      closed = true;
      await Promise.all(watching);
      for (const { agent } of all) agent.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
