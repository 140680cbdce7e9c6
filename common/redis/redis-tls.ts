import { type ConnectionOptions, connect } from 'node:tls';
import {
  AbstractConnector,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';

/*
 * A TLS socket can emit two errors: that a certificate is not trusted, and the alert that stood right behind it. ioredis
 * 6.0.0 listens to the first of a socket alone, and the second would end the process. So these hear all of them.
 */

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;
type Connect = SentinelConnector['connect'];

/** For a client of one server, or of a cluster's nodes. */
export class TlsConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  /** @param options RedisOptions of the client, as the library hands them over */
  constructor(options: unknown) {
    super((options as RedisOptions).disconnectTimeout as number);
    this.#options = options as RedisOptions;
  }

  override async connect(): Promise<Stream> {
    const { host, port, family, tls } = this.#options;
    this.connecting = true;
    // whoever disconnects in the same turn opens no socket
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (!this.connecting) throw new Error('Connection is closed.');
    const address = { host, port, family };
    this.stream = connect({ ...address, ...tls } as ConnectionOptions);
    return this.stream.on('error', (error) => {
      this.firstError ??= error;
    });
  }
}

/** For a client whose Sentinels, and the servers that they name, speak TLS. */
export class SentinelTlsConnector extends SentinelConnector {
  /** @param options SentinelConnectionOptions of the client, as the library hands them over */
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    // the clients that ask the Sentinels; the library has no option for them
    const ask = Reflect.get(this, 'connectToSentinel');
    Reflect.set(this, 'connectToSentinel', (address: unknown, more: RedisOptions) =>
      Reflect.apply(ask, this, [address, { ...more, Connector: TlsConnector }]),
    );
  }

  override async connect(...args: Parameters<Connect>): Promise<Stream> {
    return (await super.connect(...args)).on('error', () => {});
  }
}
