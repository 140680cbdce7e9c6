import { createHash, randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { type Client, type ConnectOptions, connect } from '#client/client.ts';
import type { PlaceStorage } from '#client/upload.ts';
import { type Sluice, sluiceFor } from './start-sluice.ts';
import { type CutKind, type ProxiedConnection, startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A server that says the digest of each file. */
export async function sluiceWithDigests(
  t: Pick<Test, 'teardown'>,
  env: Readonly<Record<string, string>> = {},
): Promise<Sluice> {
  return sluiceFor(t, { env: { DIGEST: 'sha-256', MAX_UPLOAD_BYTES: '2000000000', ...env } });
}

export function clientOf({ baseUrl, token }: Sluice, options: Partial<ConnectOptions> = {}): Client {
  return connect({ url: baseUrl, token, project: 'files', ...options });
}

interface CuttingProxy extends TcpProxy {
  /** Connections that were cut. */
  readonly cut: () => number;
  /** Bytes that the server got, and that the client did. */
  readonly forwarded: (direction: 'toTarget' | 'toClient') => number;
}

/** A way to the server whose first connections are cut after some bytes. */
export async function cuttingProxy(
  t: Pick<Test, 'teardown'>,
  { baseUrl }: Pick<Sluice, 'baseUrl'>,
  {
    cuts,
    after,
    direction = 'toTarget',
    kind = 'rst',
  }: {
    readonly cuts: number;
    /** Bytes of the connection of that number. */
    readonly after: (id: number) => number;
    readonly direction?: 'toTarget' | 'toClient';
    readonly kind?: CutKind;
  },
): Promise<CuttingProxy> {
  const { hostname: host, port } = new URL(baseUrl);
  const all: ProxiedConnection[] = [];
  const proxy = await startTcpProxy({
    target: { host, port: Number(port) },
    onConnection(connection) {
      all.push(connection);
      if (connection.id <= cuts)
        connection[direction].set({ cutAfterBytes: after(connection.id), cutKind: kind });
    },
  });
  t.teardown(() => proxy.close());
  return {
    ...proxy,
    cut: () => all.filter(({ id, [direction]: link }) => id <= cuts && link.forwarded >= after(id)).length,
    forwarded: (which) => all.reduce((sum, { [which]: link }) => sum + link.forwarded, 0),
  };
}

/** As localStorage. */
export function mapStorage(): PlaceStorage & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
}

const block = randomBytes(1 << 20);

/** Bytes that do not repeat themselves at the size of a part. */
export function someBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += block.byteLength) {
    bytes.set(block.subarray(0, size - at), at);
    bytes[at] = (at / block.byteLength) % 251;
  }
  return bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
