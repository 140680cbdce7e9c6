import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ByteRange, StoredObject } from '#objects/object-store.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';

/** A file that is served. */
export interface ServedFile {
  readonly url: string;
  /** Why its bytes could not be read; null: no read has failed. */
  readonly failure: Error | null;
  /** Removes its address. */
  readonly end: () => void;
}

/** A file under a path of the server. */
interface Endpoint {
  readonly object: StoredObject;
  readonly signal: AbortSignal;
  failure: Error | null;
}

const singleRange = /^bytes=(\d+)-(\d*)$/;

/**
 * An HTTP server of stored files, for engines on this machine. A file has an address that nobody can guess, and only while
 * its statement runs. Engines therefore need neither credentials of a store nor paths.
 */
export class ByteServer {
  readonly #files: Pick<StoredFiles, 'read'>;
  readonly #endpoints = new Map<string, Endpoint>();
  #server: Promise<Server> | null = null;

  constructor(files: Pick<StoredFiles, 'read'>) {
    this.#files = files;
  }

  async serve(object: StoredObject, signal: AbortSignal): Promise<ServedFile> {
    const server = await this.#listening();
    const path = `/${randomBytes(32).toString('base64url')}`;
    const ended = new AbortController();
    const endpoint: Endpoint = {
      object,
      failure: null,
      signal: AbortSignal.any([signal, ended.signal]),
    };
    this.#endpoints.set(path, endpoint);
    const end = (): void => {
      this.#endpoints.delete(path);
      ended.abort(new Error('the statement that read the file has ended'));
    };
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
      get failure() {
        return endpoint.failure;
      },
      end,
    };
  }

  async close(): Promise<void> {
    const server = await this.#server?.catch(() => null);
    server?.closeAllConnections();
    server?.close();
  }

  #listening(): Promise<Server> {
    this.#server ??= this.#listen().catch((error: unknown) => {
      this.#server = null;
      throw error;
    });
    return this.#server;
  }

  async #listen(): Promise<Server> {
    const server = createServer((request, response) => void this.#answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // requests that wait for an answer keep the process alive; this server need not
    return server.unref();
  }

  async #answer({ method, url = '', headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const endpoint = this.#endpoints.get(url);
    if (endpoint === undefined) return void response.writeHead(404).end();
    const { size, lastModified } = endpoint.object;
    const range = rangeOf(headers.range, size);
    if (range === 'none') return void response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    response.writeHead(range === null ? 200 : 206, {
      'accept-ranges': 'bytes',
      'content-length': range === null ? size : range.end - range.start + 1,
      'last-modified': lastModified.toUTCString(),
      ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${size}` }),
    });
    if (method === 'HEAD' || size === 0) return void response.end();
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the engine closed the connection')));
    const bytes = this.#bytes(endpoint, range, AbortSignal.any([endpoint.signal, gone.signal]));
    await pipeline(Readable.from(bytes), response).catch(() => response.destroy());
  }

  async *#bytes(
    endpoint: Endpoint,
    range: ByteRange | null,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#files.read(endpoint.object, signal, range);
    } catch (error) {
      // an abort is no failure: the engine closes the connection when it has enough
      if (!signal.aborted) endpoint.failure ??= error as Error;
      throw error;
    }
  }
}

/** Null: all bytes; `none`: the range is not satisfiable. */
function rangeOf(header: string | undefined, size: number): ByteRange | null | 'none' {
  const [, from, to = ''] = singleRange.exec(header ?? '') ?? [];
  if (from === undefined) return null;
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start > end ? 'none' : { start, end };
}
