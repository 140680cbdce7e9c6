import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { stillStarting } from '../errors/catalogue.ts';
import { renderError } from '../errors/render-error.ts';
import { listenOn } from './listen-on.ts';
import { loadUws } from './uws.ts';

/** A port that is ours, though none of our workers listens there yet. */
export interface PortClaim {
  readonly port: number;
  /** Leaves it to the workers, which listen there by now. */
  release(): void;
}

/**
 * Takes a port for workers that will share it. Shared listening is open to any process of the same user, so it is
 * first listened on alone, which fails when anybody is there, and then, without a turn of the event loop between, in
 * the shared way, which makes the same attempt of others fail. Clients that connect meanwhile get 503.
 * Rejects when the port can't be listened on. @param address port 0: any that is free
 */
export async function claimPort(address: {
  readonly host: string;
  readonly port: number;
}): Promise<PortClaim> {
  const uws = loadUws();
  const app = uws.App().any('/*', (res, req) => {
    const error = stillStarting();
    const id = randomUUID();
    const { headers, body } = renderError(error, { path: req.getUrl(), id, accept: req.getHeader('accept') });
    res.cork(() => {
      res.writeStatus(`${error.status} ${STATUS_CODES[error.status]}`);
      for (const [name, value] of Object.entries({ ...headers, 'x-request-id': id })) {
        res.writeHeader(name, value);
      }
      res.end(body, true);
    });
  });
  const alone = await listenOn(app, address, 'alone');
  const port = uws.us_socket_local_port(alone);
  uws.us_listen_socket_close(alone);
  await listenOn(app, { ...address, port }, 'shared');
  return { port, release: () => app.close() };
}
