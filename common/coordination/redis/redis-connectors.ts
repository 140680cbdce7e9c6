import { connect as connectTcp } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import {
  AbstractConnector,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';

/*
 * A TLS socket can emit two errors: that a certificate is not trusted, and the alert that stood right behind it. ioredis
 * 6.0.0 listens to the first of a socket alone, and the second would end the process. And of the nodes of a cluster,
 * and of Sentinels, it reports no more than that a connection was closed. So these listen to all errors, and report them.
 */

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;
type Connector = NonNullable<RedisOptions['Connector']>;
type Connect = SentinelConnector['connect'];

/** Called when a connection failed. @param address host:port */
export type Report = (error: Error, address: string) => void;

/** Connector for a client of one server, or of a cluster's nodes. */
export function serverConnector(report: Report): Connector {
  return class extends AbstractConnector {
    readonly #options: RedisOptions;

    /** @param options RedisOptions of the client, as the library hands them over */
    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout as number);
      this.#options = options as RedisOptions;
    }

    override async connect(): Promise<Stream> {
      const { host, port, family, tls } = this.#options;
      this.connecting = true;
      // a disconnect in the same turn opens no socket
      await new Promise<void>((resolve) => process.nextTick(resolve));
      if (!this.connecting) throw new Error('Connection is closed.');
      const address = { host, port: port as number, family };
      this.stream = tls ? connectTls({ ...address, ...tls } as ConnectionOptions) : connectTcp(address);
      return this.stream.on('error', (error) => {
        this.firstError ??= error;
        report(error, `${host}:${port}`);
      });
    }
  };
}

/** Connector for a client that finds its server by Sentinels. @param report called with the state of Sentinels */
export function sentinelConnector(report: Report): Connector {
  const Connector = serverConnector(report);
  return class extends SentinelConnector {
    /** @param options SentinelConnectionOptions of the client, as the library hands them over */
    constructor(options: unknown) {
      super(options as SentinelConnectionOptions);
      // the clients that ask the Sentinels; the library has no option for them
      const ask = Reflect.get(this, 'connectToSentinel');
      Reflect.set(this, 'connectToSentinel', (address: unknown, more: RedisOptions) =>
        Reflect.apply(ask, this, [address, { ...more, Connector }]),
      );
    }

    override async connect(...args: Parameters<Connect>): Promise<Stream> {
      return (await super.connect(...args)).on('error', () => {});
    }
  };
}
