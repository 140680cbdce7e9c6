import type { Limiter } from '#coordination/rate-limits/request-limiter.ts';
import { membershipRefused, unauthorized } from '#kernel/errors/catalogue.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { Handler, HttpRequest, Route } from '#server/http/http-types.ts';
import { readJson } from '#server/http/read-json.ts';
import { type WebAppDeps, webAppRoutes } from './assets/web-app-routes.ts';
import type { ConsoleCall, ConsoleDeps } from './operations/console-call.ts';
import { type ConsoleOperation, consoleOperations } from './operations.ts';
import { checkCsrfToken, checkSameOrigin } from './sessions/csrf.ts';
import { notAMember, type OpenSession } from './sessions/sessions.ts';

export interface ConsoleRouteDeps extends ConsoleDeps, WebAppDeps {
  /** The public address of the process, if configured. */
  readonly publicUrl: string | undefined;
  /** Limits the requests of a session, like those of an access token. */
  readonly limiter: Limiter;
}

const maxBodyBytes = 16 * 1024;

/** Every address of the dashboard. */
export function consoleRoutes(deps: ConsoleRouteDeps): Route[] {
  const operations = consoleOperations().map((operation) => ({
    operation: operation.operation,
    method: operation.method,
    path: operation.path,
    withoutCors: true,
    handler: handlerOf(operation, deps),
  }));
  return [...operations, ...webAppRoutes(deps)];
}

function handlerOf({ method, needs, run }: ConsoleOperation, deps: ConsoleRouteDeps): Handler {
  const isChange = method !== 'GET';
  return async (request) => {
    if (isChange) checkSameOrigin(request, deps.publicUrl);
    const session = await sessionOf(request, deps);
    const call: Omit<ConsoleCall, 'session'> = {
      request,
      sender: addressOwner(request.address),
      body: () => readJson(request, maxBodyBytes),
    };
    if (needs === 'nothing') return run({ ...call, session }, deps);
    if (session === null) throw unauthorized('Log in to the dashboard first');
    if (isChange) checkCsrfToken(request, session.cookie);
    if (needs === 'session') return run({ ...call, session }, deps);
    const { acting } = session;
    if (acting === null) throw notAMember();
    if (!acting.manages) throw membershipRefused('Only the owner and managers of this account may do this');
    return run({ ...call, session, acting }, deps);
  };
}

async function sessionOf(
  request: HttpRequest,
  { cookie, sessions, limiter }: ConsoleRouteDeps,
): Promise<OpenSession | null> {
  const value = cookie.read(request);
  const session = value === null ? null : await sessions.find(value, request.signal);
  if (session === null) return null;
  request.body.identify(session.account.id);
  await limiter.admit(`session-${session.session.hash.slice(0, 16)}`, (end) => request.onOver(end));
  return session;
}
