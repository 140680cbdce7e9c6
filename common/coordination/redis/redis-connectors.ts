import { connect as connectTcp } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import {
  AbstractConnector,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';

/*
 * A TLS socket can emit two errors: the untrusted certificate, and the alert that follows. ioredis 6.0.0 only listens for
 * a socket's first error, so the second would end the process. And for nodes of a cluster and Sentinels it only reports
 * that a connection was closed. So these connectors listen for all errors, and report them.
 */

type Stream = Awaited<ReturnType<AbstractConnector['connect']>>;
type Connector = NonNullable<RedisOptions['Connector']>;
type Connect = SentinelConnector['connect'];

/** Called when a connection failed. @param address host:port */
export type ReportFailure = (error: Error, address: string) => void;

/** Connector for a client of one server, or of a cluster's nodes. */
export function serverConnector(report: ReportFailure): Connector {
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
      // no socket is opened after a disconnect in the same turn
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

/** Connector for a client that finds its server through Sentinels. @param report called with the state of Sentinels */
export function sentinelConnector(report: ReportFailure): Connector {
  const Connector = serverConnector(report);
  return class extends SentinelConnector {
    /** @param options SentinelConnectionOptions of the client, as the library hands them over */
    constructor(options: unknown) {
      super(options as SentinelConnectionOptions);
      // the clients that query the Sentinels; the library has no option for them
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
