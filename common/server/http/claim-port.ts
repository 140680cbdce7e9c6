import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { stillStarting } from '#kernel/errors/catalogue.ts';
import { renderError } from '#kernel/errors/render-error.ts';
import { CorsPolicy } from './cors.ts';
import type { Headers } from './http-types.ts';
import { listenOn } from './listen-on.ts';
import { loadUws } from './uws.ts';
import { variedBy } from './varied-by.ts';

/** A port that we hold before our workers listen on it. */
export interface PortClaim {
  readonly port: number;
  /** Hands the port over to the workers, which listen by now. */
  release(): void;
}

/**
 * Claims a port for workers that will share it. Any process of the same user could join a shared port. So this first
 * listens exclusively, which fails if another process listens, and then shared, in the same turn of the event loop,
 * which makes the exclusive attempt of others fail. Clients that connect meanwhile get 503.
 * Rejects if listening fails. @param address port 0: any free port
 */
export async function claimPort(address: {
  readonly host: string;
  readonly port: number;
  readonly corsOrigins: readonly string[];
}): Promise<PortClaim> {
  const uws = loadUws();
  const cors = new CorsPolicy(address.corsOrigins);
  const app = uws.App().any('/*', (res, req) => {
    const id = randomUUID();
    const request = { header: (name: string): string | undefined => req.getHeader(name) || undefined };
    const preflight = req.getMethod() === 'options' ? cors.preflightHeaders(request, []) : {};
    const mayBeSent = 'access-control-allow-methods' in preflight;
    const error = stillStarting();
    const { headers, body } = mayBeSent
      ? { headers: preflight, body: undefined }
      : renderError(error, { path: req.getUrl(), id, accept: request.header('accept') });
    const status = mayBeSent ? 204 : error.status;
    const allowed = cors.answerTo(request).headers;
    const vary = headers.vary === undefined ? allowed.vary : variedBy(allowed.vary, headers.vary);
    const head: Headers = { ...allowed, ...headers, ...(vary && { vary }), 'x-request-id': id };
    res.cork(() => {
      res.writeStatus(`${status} ${STATUS_CODES[status]}`);
      for (const name in head) res.writeHeader(name, head[name] as string);
      if (body !== undefined) res.end(body, true);
      else res.writeHeader('connection', 'close').endWithoutBody();
    });
  });
  const exclusive = await listenOn(app, address, 'exclusive');
  const port = uws.us_socket_local_port(exclusive);
  uws.us_listen_socket_close(exclusive);
  await listenOn(app, { ...address, port }, 'shared');
  return { port, release: () => app.close() };
}
