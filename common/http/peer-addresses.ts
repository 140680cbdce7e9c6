import type * as Uws from 'uWebSockets.js';

const remembered = 65_536;

/**
 * The addresses of the other ends of connections, as uWebSockets.js writes them. To read one takes longer than to look up
 * an answer, so it is not read where there is but one that it can be: that of the only client, or of the one proxy.
 */
export class PeerAddresses {
  /** Of all connections so far; null: they differ, or there was none. */
  #only: string | null = null;
  #connections = 0;
  /** Of IPv4, by its 32 bits. */
  readonly #texts = new Map<number, string>();

  /** To be called with each connection, before its first request. */
  connected(res: Uws.HttpResponse): void {
    const address = textOf(res);
    if (this.#connections++ === 0) this.#only = address;
    else if (this.#only !== address) this.#only = null;
  }

  /** The connection must be there. */
  of(res: Uws.HttpResponse): string {
    if (this.#only !== null) return this.#only;
    const bytes = new Uint8Array(res.getRemoteAddress());
    if (bytes.length !== 4) return textOf(res);
    const [a, b, c, d] = bytes as unknown as readonly [number, number, number, number];
    const bits = (a << 24) | (b << 16) | (c << 8) | d;
    const known = this.#texts.get(bits);
    if (known !== undefined) return known;
    if (this.#texts.size >= remembered) this.#texts.clear();
    const text = textOf(res);
    this.#texts.set(bits, text);
    return text;
  }
}

function textOf(res: Uws.HttpResponse): string {
  return Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
}
