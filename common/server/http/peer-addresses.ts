import type * as Uws from 'uWebSockets.js';

/**
 * The addresses of peers, as uWebSockets.js writes them. Reading an address takes longer than a cached answer, so it is
 * not read while all connections share one: the only client's, or the only proxy's.
 */
export class PeerAddresses {
  /** The address of all connections so far; null: they differ; undefined: no connection yet. */
  #only: string | null | undefined;

  /** Notes a connection, before its first request. */
  connected(res: Uws.HttpResponse): void {
    const address = textOf(res);
    if (this.#only === undefined) this.#only = address;
    else if (this.#only !== address) this.#only = null;
  }

  /** The connection must be open. */
  of(res: Uws.HttpResponse): string {
    return this.#only ?? textOf(res);
  }
}

function textOf(res: Uws.HttpResponse): string {
  return Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
}
