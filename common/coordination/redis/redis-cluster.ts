import { Cluster } from 'ioredis';

type Arguments = ConstructorParameters<typeof Cluster<'legacy'>>;

/**
 * A cluster client that refreshes its map of slots periodically until it is disconnected. The library has an option for
 * that, but in ioredis 6.0.0 its timer keeps the process alive if the client is disconnected during a refresh.
 */
export class RefreshedCluster extends Cluster<'legacy'> {
  readonly #refresh: NodeJS.Timeout;

  /** @param every interval of the refresh. Milliseconds */
  constructor(nodes: Arguments[0], options: Arguments[1], every: number) {
    super(nodes, { ...options, slotsRefreshInterval: 0 });
    this.#refresh = setInterval(() => {
      if (this.status === 'ready') this.refreshSlotsCache();
    }, every);
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) clearInterval(this.#refresh);
    super.disconnect(reconnect);
  }
}
