import { request } from 'node:http';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { AccessTokens } from '#auth/access-tokens.ts';
import { createAuthenticate } from '#auth/authenticate.ts';
import { bootstrap } from '#auth/execute-token-order.ts';
import type { Hasher } from '#auth/hasher.ts';
import { LoginThrottle, loginThrottleDefaults } from '#auth/login-throttle.ts';
import { SessionStore } from '#auth/session-store.ts';
import { TokenCheck } from '#auth/token-check.ts';
import { createTokenGate } from '#auth/token-gate.ts';
import { AccountLinks } from '#catalogue/account-links.ts';
import { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { Members } from '#catalogue/members.ts';
import { Users } from '#catalogue/users.ts';
import type { SendNotice } from '#console/accounts/notices.ts';
import { openPeople } from '#console/accounts/open-people.ts';
import { Passwords } from '#console/accounts/passwords.ts';
import { consoleRoutes } from '#console/routes.ts';
import { createSessionCookie } from '#console/sessions/session-cookie.ts';
import { Sessions } from '#console/sessions/sessions.ts';
import { type RequestLimiter, unlimited } from '#coordination/rate-limits/request-limiter.ts';
import type { Database } from '#engine/database.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { startHttpServer } from '#server/http/http-server.ts';
import type { Route } from '#server/http/http-types.ts';
import { wholeContract } from './contract.ts';
import { quickHasher } from './quick-hasher.ts';
import { silentLog } from './silent-log.ts';

export interface ConsoleAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON of any shape, which each test looks into
  readonly body: any;
}

export interface ConsoleAsk {
  readonly method?: string;
  /** Below /_console_/api, or a whole path that begins with /_console_ or /test. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A value to be sent as JSON, or a text as it is. */
  readonly body?: unknown;
}

export interface ConsoleOptions {
  readonly mode?: Config['registration'];
  readonly hasher?: Hasher;
  /** Milliseconds that clocks of sessions are ahead. */
  readonly ahead?: () => number;
  /** Requests come through a proxy that takes HTTPS. */
  readonly behindTls?: boolean;
  readonly webApp?: string;
  /** Of one session, and of one address. */
  readonly limiter?: RequestLimiter;
  readonly addressLimiter?: RequestLimiter;
  /** A mailer. */
  readonly send?: SendNotice;
}

export const bootstrapToken = 'bootstrap-token-of-a-test';

/** The dashboard as a process serves it, on a store that others may share, with a route that needs an access token. */
export async function serveConsole(
  t: Pick<Test, 'teardown'>,
  { db, database }: { readonly db: Database; readonly database: string },
  options: ConsoleOptions = {},
) {
  const deployment = await openDeployment({ db, database });
  const log = silentLog();
  const closed = new ClosedAccounts({ db, database, log, singleWriter: false });
  await closed.start();
  const users = new Users({ db, database, closed });
  const members = new Members({ db, database });
  const accountLinks = new AccountLinks({ db, database });
  const tokens = new AccessTokens({ db, database, deployment });
  const store = new SessionStore({ db, database, users, members });
  const gate = createTokenGate({ tokens, deployment });
  const tokenCheck = new TokenCheck({ tokens, sessions: store, log, singleWriter: false, gate, closed });
  await bootstrap({ users, tokens, token: bootstrapToken });
  const hasher = options.hasher ?? quickHasher();
  const now = (): Date => new Date(Date.now() + (options.ahead?.() ?? 0));
  const mode = options.mode ?? 'open';
  const authenticate = createAuthenticate(tokenCheck);
  const whoami: Route = {
    method: 'GET',
    path: '/test/whoami',
    handler: async (request) => ({ status: 200, body: JSON.stringify(await authenticate(request)) }),
  };
  const throttle = new LoginThrottle({ ...loginThrottleDefaults, longestWait: 0, firstDelay: 30_000 });
  const people = openPeople({
    ...{ users, members, accountLinks, closed, tokens, tokenCheck, deployment, hasher, mode, now },
    send: options.send,
    pageUrl: (path) => `https://console.test${path}`,
  });
  const proxies = new BlockList();
  proxies.addAddress('127.0.0.1');
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    log,
    trustedProxies: options.behindTls ? proxies : undefined,
    corsOrigins: ['*'],
    addressLimiter: options.addressLimiter,
    bodyIdleTimeout: 10_000,
    requestTimeout: 60_000,
    routes: [
      whoami,
      ...consoleRoutes({
        sessions: new Sessions({ store, gate, deployment, now }),
        cookie: createSessionCookie({ tls: false }),
        passwords: new Passwords({ users, hasher, throttle }),
        ...people,
        users,
        members,
        closed,
        tokens,
        tokenCheck,
        oidc: null,
        mode,
        readLimits: { maxRows: 5000, timeout: 30_000 },
        apiUrl: '',
        filesArePublic: true,
        trashDays: 0,
        scansFiles: false,
        publicUrl: undefined,
        limiter: options.limiter ?? unlimited,
        webApp: options.webApp ?? join(tmpdir(), 'sluice-has-no-such-folder'),
        origins: () => ({ api: ['https://api.test'], files: ['https://files.test'] }),
      }),
    ],
  });
  t.teardown(async () => {
    await server.close(0);
    await tokenCheck.close();
    await closed.close();
  });
  const ask = (call: ConsoleAsk): Promise<ConsoleAnswer> => send(server.port, call);
  const stores = { users, members, accountLinks, closed, tokens, tokenCheck, store, ...people };
  return { port: server.port, ...stores, log, ask, visitor: () => new Visitor(ask) };
}

export type ServedConsole = Awaited<ReturnType<typeof serveConsole>>;

/** A browser, as far as the dashboard notices: it keeps the cookie and the CSRF token, and sends them. */
export class Visitor {
  /** `name=value`; null: none. */
  cookie: string | null = null;
  csrfToken: string | null = null;
  readonly #ask: (call: ConsoleAsk) => Promise<ConsoleAnswer>;

  constructor(ask: (call: ConsoleAsk) => Promise<ConsoleAnswer>) {
    this.#ask = ask;
  }

  async send(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
    const answer = await this.#ask({
      method,
      path,
      body,
      headers: {
        ...(this.cookie === null ? {} : { cookie: this.cookie }),
        ...(this.csrfToken === null || method === 'GET' ? {} : { 'x-csrf-token': this.csrfToken }),
        'sec-fetch-site': 'same-origin',
      },
    });
    const set = answer.headers['set-cookie'];
    if (set !== undefined) this.cookie = set.split(';')[0] as string;
    if (answer.body?.csrfToken !== undefined) this.csrfToken = answer.body.csrfToken;
    return answer;
  }

  register(email: string, more: object = {}): Promise<ConsoleAnswer> {
    return this.send('/register', { email, password: passwordOf(email), ...more });
  }

  logIn(email: string, password = passwordOf(email)): Promise<ConsoleAnswer> {
    return this.send('/login', { email, password });
  }

  /** An access token of the session. */
  async token(): Promise<string> {
    return (await this.send('/token', {})).body.token;
  }
}

export function passwordOf(email: string): string {
  return `the password of ${email.toLowerCase()}`;
}

/** Sends a request, and holds what is answered against the description of the API. */
async function send(
  port: number,
  { method = 'GET', path, headers = {}, body }: ConsoleAsk,
): Promise<ConsoleAnswer> {
  const whole = /^\/(?:_console_|test)(?:\/|$)/.test(path) ? path : `/_console_/api${path}`;
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await new Promise<ConsoleAnswer>((resolve, reject) => {
    const type = text === undefined ? {} : { 'content-type': 'application/json' };
    const outgoing = request({
      port,
      host: '127.0.0.1',
      method,
      path: whole,
      headers: { ...type, ...headers },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const names = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
        resolve({
          status: incoming.statusCode ?? 0,
          text,
          headers: Object.fromEntries(names),
          body: /json/.test(incoming.headers['content-type'] ?? '') && text !== '' ? JSON.parse(text) : null,
        });
      });
    });
    outgoing.end(text);
  });
  if (!whole.startsWith('/_console_')) return answer;
  const problem = (await wholeContract()).problemOf({ method, path: whole, ...answer, body: answer.text });
  if (problem !== null) throw new Error(problem);
  return answer;
}
