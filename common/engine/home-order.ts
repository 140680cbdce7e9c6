import { createHash } from 'node:crypto';

/**
 * The order of the servers for a key. All processes with the same addresses agree on it without communication
 * (rendezvous hashing, https://en.wikipedia.org/wiki/Rendezvous_hashing). There are few keys, so all are cached.
 */
export class HomeOrder<Server extends { readonly url: string }> {
  readonly #servers: readonly Server[];
  readonly #orders = new Map<string, readonly Server[]>();

  constructor(servers: readonly Server[]) {
    this.#servers = servers;
  }

  /** All servers, the key's home first. */
  of(key: string): readonly Server[] {
    const known = this.#orders.get(key);
    if (known !== undefined) return known;
    const order = this.#servers
      .map((server) => ({ server, weight: weightOf(key, server.url) }))
      .sort((a, b) => (a.weight < b.weight ? 1 : -1))
      .map(({ server }) => server);
    this.#orders.set(key, order);
    return order;
  }
}

function weightOf(key: string, url: string): string {
  return createHash('sha1').update(key).update('\0').update(url).digest('hex');
}
