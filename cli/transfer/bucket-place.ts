import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { readBucketConfig } from '#kernel/config/read-config.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import type { S3Bucket } from '#objects/s3/s3-bucket.ts';
import { isLasting } from '#objects/s3/s3-failure.ts';
import { type Chunks, type ExportPlace, gathered, type JournalLine, journalName } from './export-place.ts';
import { CutTransfer } from './remote-server.ts';

/** A journal's further files, because objects can't be extended. They go when the journal is written anew. */
const segment = /^done-\d{6}\.ndjson$/;
/** An interrupted export loses what it noted since the last segment, and exports it again. */
const itemsASegment = 100;
const bytesASegment = 64 * 1024 ** 2;
/** How long the lines of finished items may take to be stored when the command ends early. Milliseconds. */
const flushTime = 30_000;
/** A key may have 1,024, and the paths of an export have up to 500. Bytes. */
const longestPrefix = 400;

export interface BucketAddress {
  readonly bucket: string;
  /** With a slash at its end. */
  readonly prefix: string;
}

/**
 * Reads `s3://BUCKET/PREFIX`. A prefix is required: uploads under it that were interrupted are dropped, and in a whole
 * bucket they may be of others.
 */
export function bucketAddress(address: string): BucketAddress {
  const [, bucket, path = ''] =
    /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9])\/(.*?)\/*$/s.exec(address) ?? [];
  const isSafe = path.split('/').every((part) => /^(?!\.\.?$)[^\p{Cc}]+$/u.test(part));
  if (bucket === undefined || !isSafe || Buffer.byteLength(path) > longestPrefix)
    throw new CommandError(`${address} is not an address such as s3://bucket/prefix`);
  return { bucket, prefix: `${path}/` };
}

/** An export under a prefix of a bucket. Each file is an object, which is streamed. */
export class BucketPlace implements ExportPlace {
  readonly name: string;
  readonly #prefix: string;
  readonly #bucket: S3Bucket;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** Sizes by path. Null: not listed yet. */
  #sizes: Promise<Map<string, number>> | null = null;
  #start: Buffer | null = null;
  #noted: { lines: Buffer[]; bytes: number } = { lines: [], bytes: 0 };
  #segments = 0;

  private constructor({ bucket, prefix }: BucketAddress, opened: S3Bucket, signal: AbortSignal) {
    this.name = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
    this.#prefix = prefix;
    this.#bucket = opened;
    signal.addEventListener('abort', () => this.#stop.abort(signal.reason), { once: true });
    if (signal.aborted) this.#stop.abort(signal.reason);
  }

  /** With the server's own S3_* variables, except for the bucket. */
  static async open(
    address: BucketAddress,
    {
      env,
      signal,
      warn,
    }: {
      readonly env: NodeJS.ProcessEnv;
      readonly signal: AbortSignal;
      readonly warn: (text: string) => void;
    },
  ): Promise<BucketPlace> {
    const { s3, s3RequestTimeout } = readBucketConfig(env, address.bucket);
    const { openS3Bucket } = await import('#objects/s3/s3-bucket.ts');
    const bucket = openS3Bucket({
      ...s3,
      // a command can wait for longer than a request of a client
      timing: { request: 2 * s3RequestTimeout, quiet: s3RequestTimeout },
      log: {
        warn: (fields: unknown, text = 'a warning of the S3 client') => {
          const { err } = fields as { readonly err?: Error };
          warn(`S3: ${text}${err === undefined ? '' : `: ${err.message}`}`);
        },
      },
    });
    return new BucketPlace(address, bucket, signal);
  }

  async names(): Promise<readonly string[]> {
    const names = [...(await this.#listed()).keys()].map((path) => path.split('/')[0] as string);
    return [...new Set(names)].filter((name) => name !== journalName && !segment.test(name));
  }

  async size(path: string): Promise<number | null> {
    return (await this.#listed()).get(path) ?? null;
  }

  async *read(path: string): AsyncGenerator<Uint8Array, void, undefined> {
    const size = await this.size(path);
    if (size === null) throw new CommandError(`${this.name} has no ${path}`);
    try {
      yield* this.#bucket.read(this.#prefix + path, size, this.#stop.signal);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async write(path: string, chunks: Chunks, bytes?: number): Promise<void> {
    const sizes = await this.#listed();
    sizes.delete(path);
    let size = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        size += chunk.byteLength;
        yield chunk;
      }
    }
    const upload = this.#bucket.upload(
      { key: this.#prefix + path, chunks: counted(), bytes },
      this.#stop.signal,
    );
    const settled = upload.catch(() => {}).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
    await upload.catch((error: unknown) => {
      throw this.#explained(error);
    });
    sizes.set(path, size);
  }

  async remove(names: readonly string[]): Promise<void> {
    const removed = new Set(names);
    await this.#remove((name) => removed.has(name));
  }

  /** Parts of uploads cost money until they are dropped. */
  async removeUnfinished(): Promise<void> {
    await this.#try(() => this.#bucket.dropUploads(this.#prefix, this.#stop.signal));
  }

  async *journal(): AsyncGenerator<JournalLine> {
    const names = [...(await this.#listed()).keys()].filter((path) => segment.test(path)).sort();
    this.#segments = Number(/\d+/.exec(names.at(-1) ?? '0')?.[0]);
    for (const path of [journalName, ...names]) {
      if ((await this.size(path)) === null) continue;
      let number = 0;
      for await (const text of createInterface({ input: Readable.from(this.read(path)) }))
        yield { file: `${this.name}/${path}`, number: ++number, text };
    }
  }

  async replaceJournal(start: Buffer, lines: Iterable<Buffer>): Promise<void> {
    this.#start = start;
    this.#noted = { lines: [], bytes: 0 };
    await this.write(journalName, gathered(start, lines));
    await this.#remove((name) => segment.test(name));
    this.#segments = 0;
  }

  async appendJournal(lines: readonly Buffer[], bytes: number): Promise<void> {
    this.#noted.lines.push(...lines);
    this.#noted.bytes += bytes;
    const { lines: noted, bytes: all } = this.#noted;
    if (noted.length >= itemsASegment || all >= bytesASegment) await this.#flush(this.#stop.signal);
  }

  workFolder(): Promise<string> {
    return mkdtemp(join(tmpdir(), 'sluice-verify-'));
  }

  async close(): Promise<void> {
    this.#stop.abort(new CommandError('the command ends'));
    while (this.#running.size > 0) await Promise.all(this.#running);
    // what was exported is not exported again
    await this.#flush(AbortSignal.timeout(flushTime)).catch(() => {});
    await this.#bucket.close();
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const { lines } = this.#noted;
    if (lines.length === 0 || this.#start === null) return;
    this.#noted = { lines: [], bytes: 0 };
    const path = `done-${`${++this.#segments}`.padStart(6, '0')}.ndjson`;
    const chunks = Readable.from(gathered(this.#start, lines));
    try {
      await this.#bucket.upload({ key: this.#prefix + path, chunks, bytes: undefined }, signal);
    } catch (error) {
      // `close` tries once more
      this.#noted.lines.unshift(...lines);
      throw this.#explained(error);
    }
    (await this.#listed()).set(path, 0);
  }

  async #remove(isRemoved: (name: string) => boolean): Promise<void> {
    const sizes = await this.#listed();
    const paths = [...sizes.keys()].filter((path) => isRemoved(path.split('/')[0] as string));
    const keys = paths.map((path) => this.#prefix + path);
    await this.#try(() => this.#bucket.delete(keys, this.#stop.signal));
    for (const path of paths) sizes.delete(path);
  }

  /** One list tells of all objects, in place of a request for each. */
  #listed(): Promise<Map<string, number>> {
    this.#sizes ??= this.#try(async () => {
      const sizes = new Map<string, number>();
      for await (const { key, size } of this.#bucket.list(this.#prefix, this.#stop.signal)) {
        const path = key.slice(this.#prefix.length);
        // some tools make an object for a folder
        if (path !== '') sizes.set(path, size);
      }
      return sizes;
    });
    return this.#sizes;
  }

  async #try<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** A setting that is wrong can't be retried; the rest can. */
  #explained(error: unknown): unknown {
    this.#stop.signal.throwIfAborted();
    if (!(error instanceof StoreUnavailable))
      return error instanceof Error && error.message.startsWith('S3 ')
        ? new CommandError(`${this.name}: ${error.message}`, { cause: error })
        : error;
    if (error.problem === undefined && !isLasting(error.cause))
      return new CutTransfer(`${this.name}: ${error.message}`, { cause: error });
    const problem = (error.problem ?? error.message).replace(/: check S3_BUCKET$/, '');
    return new CommandError(`${this.name}: ${problem}`, { cause: error });
  }
}
