import type * as Uws from 'uWebSockets.js';

/**
 * The addresses of peers, as uWebSockets.js writes them. Reading one takes longer than looking up an answer. So it is not
 * read while all connections have the same: that of the only client, or of the one proxy.
 */
export class PeerAddresses {
  /** The address of all connections so far; null: they differ; undefined: there was none. */
  #only: string | null | undefined;

  /** To be called with each connection, before its first request. */
  connected(res: Uws.HttpResponse): void {
    const address = textOf(res);
    if (this.#only === undefined) this.#only = address;
    else if (this.#only !== address) this.#only = null;
  }

  /** The connection must be there. */
  of(res: Uws.HttpResponse): string {
    return this.#only ?? textOf(res);
  }
}

function textOf(res: Uws.HttpResponse): string {
  return Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
}
