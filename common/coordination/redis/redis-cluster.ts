import { Cluster } from 'ioredis';

type Arguments = ConstructorParameters<typeof Cluster<'legacy'>>;

/**
 * A cluster whose map of slots is asked for again and again until it is disconnected. The library has an option for
 * that, but in ioredis 6.0.0 its timer never ends, and keeps the process alive, when a cluster is disconnected
 * while an answer is under way.
 */
export class RefreshedCluster extends Cluster<'legacy'> {
  readonly #refresh: NodeJS.Timeout;

  /** @param every how old the map may become. Milliseconds */
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
