/**
 * A small HTTP server before one embedded engine, which speaks as much of ClickHouse's HTTP interface as
 * @clickhouse/client and this project need (https://clickhouse.com/docs/interfaces/http), so that several processes
 * can share a real engine. It runs as a process of its own (start-chdb-server.ts), which ends with its parent.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Answer } from './chdb-server/answer.ts';
import { Engine } from './chdb-server/engine.ts';
import { engineError } from './chdb-server/engine-error.ts';
import { type Fault, type FaultAction, Faults, shownStatement } from './chdb-server/fault.ts';
import { oneNodeCluster } from './chdb-server/one-node-cluster.ts';

interface Settings {
  readonly path: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  readonly keepAliveTimeout: number;
  /** It stands for a cluster of this name, which is itself. */
  readonly cluster?: string;
  /** Of the cluster. */
  readonly shards?: number;
  /** Folder that backups may be written to. */
  readonly backups?: string;
  readonly sessions?: number;
}

/** What a test may want to know of a statement that came. */
export interface SeenStatement {
  readonly statement: string;
  readonly params: Record<string, string>;
  /** The header of that name. */
  readonly traceparent: string | undefined;
  /** 1 for the first connection. */
  readonly connection: number;
}

/** An engine writes backups where its configuration lets it. */
function backupArguments(): string[] {
  const { backups, path } = settings;
  if (backups === undefined) return [];
  const file = `${path}.xml`;
  writeFileSync(file, `<clickhouse><backups><allowed_path>${backups}</allowed_path></backups></clickhouse>`);
  return [`--config-file=${file}`];
}

const bodyLimit = 512 * 1024 * 1024;
const seenLimit = 5000;

const settings = JSON.parse(process.argv[2] ?? '{}') as Settings;
const cluster =
  settings.cluster === undefined
    ? null
    : oneNodeCluster(settings.cluster, `${settings.path}.xml`, settings.shards);
const engine = new Engine(settings.path, cluster?.connectionArgs ?? backupArguments(), settings.sessions);
const faults = new Faults();
const seen: SeenStatement[] = [];
/** The ids that clients gave to what runs. */
const running = new Set<string>();
const connections = new WeakMap<object, number>();
let connectionCount = 0;

const server = createServer({ keepAliveTimeout: settings.keepAliveTimeout }, (request, response) => {
  handle(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end(String(error));
  });
});
server.maxConnections = 512;
server.on('connection', (socket) => connections.set(socket, ++connectionCount));

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const body = await readBody(request);
  if (url.pathname === '/ping') {
    response.end('Ok.\n');
    return;
  }
  if (url.pathname.startsWith('/-/')) {
    response.end(JSON.stringify(controls[url.pathname.slice(3)]?.(body.toString('utf8')) ?? null));
    return;
  }
  const answer = new Answer(response, {
    queryId: url.searchParams.get('query_id') ?? randomUUID(),
    tag: randomBytes(8).toString('hex'),
  });
  if (url.pathname !== '/') {
    answer.plain(404, 'There is no handle for this address\n');
    return;
  }
  if (!mayEnter(request, url.searchParams)) {
    const text = 'Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)';
    answer.error({ code: 516, status: 403, text });
    return;
  }
  const inUrl = url.searchParams.get('query') ?? '';
  const sql = inUrl === '' ? body.toString('utf8') : `${inUrl}\n${body.toString('utf8')}`;
  if (sql.trim() === '') response.end('Ok.\n');
  else await answerStatement(answer, request, url.searchParams, sql);
}

async function answerStatement(
  answer: Answer,
  request: IncomingMessage,
  params: URLSearchParams,
  sql: string,
): Promise<void> {
  const shown = sql.slice(0, shownStatement);
  seen.push({
    statement: shown,
    params: Object.fromEntries(params),
    traceparent: request.headers.traceparent as string | undefined,
    connection: connections.get(request.socket) ?? 0,
  });
  if (seen.length > seenLimit) seen.shift();
  const fault = faults.strike(shown);
  const queryId = params.get('query_id') ?? '';
  running.add(queryId);
  try {
    if (fault?.kind === 'hold') await faults.hold();
    if (fault?.kind === 'status') return answer.plain(fault.status, fault.body, fault.exceptionCode);
    if (fault?.kind === 'cut-before') return answer.reset();
    if (fault?.kind === 'cut-and-run') {
      answer.reset();
      await new Promise((resolve) => setTimeout(resolve, fault.milliseconds));
    }
    const whole = withToken(sql, params.get('insert_deduplication_token'));
    const runnable = cluster === null ? whole : cluster.rewrite(whole);
    if (runnable === null) return answer.empty();
    await run(answer, params, runnable, request.method === 'GET', fault);
  } catch (error) {
    answer.error(engineError(error));
  } finally {
    running.delete(queryId);
  }
}

/** A token is of one INSERT: as a setting of a session it would need one of its own. */
function withToken(sql: string, token: string | null): string {
  if (token === null || !sql.startsWith('INSERT ')) return sql;
  return sql.replace(' FORMAT ', ` SETTINGS insert_deduplication_token = '${token}' FORMAT `);
}

const reads = /^\s*(SELECT|WITH|SHOW|EXISTS|DESCRIBE|DESC|EXPLAIN)\b/i;
/** Query ids belong to the interface, so the engine's own list of what runs has others. */
const whatRuns = /FROM system\.processes WHERE query_id = '([\w-]+)'/;

async function run(
  answer: Answer,
  params: URLSearchParams,
  sql: string,
  readonly: boolean,
  fault: FaultAction | null,
): Promise<void> {
  if (!reads.test(sql)) {
    if (readonly)
      throw new Error('Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)');
    await engine.with(params, (session) => session.queryAsync(sql, { format: 'TabSeparated' }));
    return fault?.kind === 'cut-after' ? answer.reset() : answer.empty();
  }
  const written = /\s+FORMAT\s+(\w+)[\s;]*$/i.exec(sql);
  const format = written?.[1] ?? params.get('default_format') ?? 'TabSeparated';
  const select = written === null ? sql : sql.slice(0, written.index);
  const asked = whatRuns.exec(select)?.[1];
  if (asked !== undefined) return answer.text(format, Buffer.from(running.has(asked) ? '{"1":1}\n' : ''));
  await engine.with(params, async (session) => {
    if (params.get('wait_end_of_query') !== '1') return answer.stream(session, select, format, fault);
    const result = await session.queryAsync(select, { format });
    if (fault?.kind === 'cut-after') answer.reset();
    else answer.text(format, result.bytes());
  });
}

function mayEnter(request: IncomingMessage, params: URLSearchParams): boolean {
  if (settings.user === undefined) return true;
  const { authorization } = request.headers;
  const basic = authorization?.startsWith('Basic ') ? authorization.slice(6) : undefined;
  const given =
    basic !== undefined
      ? Buffer.from(basic, 'base64').toString('utf8')
      : request.headers['x-clickhouse-user'] !== undefined
        ? `${request.headers['x-clickhouse-user']}:${request.headers['x-clickhouse-key'] ?? ''}`
        : `${params.get('user') ?? 'default'}:${params.get('password') ?? ''}`;
  return given === `${settings.user}:${settings.password ?? ''}`;
}

/** What tests ask of the server beside the interface, and what it answers; undefined: there is no such thing. */
const controls: Readonly<Record<string, (body: string) => unknown>> = {
  fault(body) {
    faults.add(JSON.parse(body) as Fault);
    return null;
  },
  clear() {
    faults.clear();
    seen.length = 0;
    return null;
  },
  release() {
    faults.release();
    return null;
  },
  held: () => faults.held,
  seen: () => seen,
};

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).byteLength;
    if (size > bodyLimit) throw new Error('the body is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

// the parent holds the other end for as long as it lives
process.stdin.on('close', () => process.exit(0));
process.stdin.resume();
server.listen(settings.port, '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
