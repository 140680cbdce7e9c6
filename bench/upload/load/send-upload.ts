import { crc32 } from 'node:zlib';
import { Exchange, jsonOf } from '#load/files/exchange.ts';
import { type FileSession, type SeedFile, seedFile } from '#load/files/file-session.ts';
import { Refusal } from '#load/files/refusal.ts';
import { formBody, formSlices, sendForm } from '#load/files/upload-form.ts';
import { sendTus } from '#load/files/upload-tus.ts';
import { Connection } from '#load/http/connection.ts';
import { slicesOf } from '#load/seed/bytes.ts';

/** Of all files: they differ by their index. */
export const benchSeed = 1;

export interface Target {
  readonly baseUrl: string;
  readonly path: string;
  readonly token: string;
  /** The path speaks tus, and gets files in chunks of this many bytes. */
  readonly chunkBytes?: number;
}

export interface FileSpec {
  readonly index: number;
  /** Bytes. */
  readonly size: number;
}

/** A file, and the checksums that a store should have of it. */
export interface BenchFile extends SeedFile {
  readonly crc32: number;
  /** Of the whole form, which a proxy forwards. */
  readonly bodySize: number;
  readonly bodyCrc32: number;
}

/** The result of an upload, and what the store should have of it. */
export interface SentUpload {
  readonly fileName: string;
  readonly size: number;
  readonly crc32: number;
  readonly bodySize: number;
  readonly bodyCrc32: number;
  /** 0 when there was no answer. */
  readonly status: number;
  /** The server's name for the file. */
  readonly name: string | null;
  readonly milliseconds: number;
  readonly problem: string | null;
}

export function benchFile({ index, size }: FileSpec): BenchFile {
  const file = seedFile(benchSeed, index, size);
  const body = { size: 0, crc32: 0 };
  for (const slice of formSlices(benchSeed, file)) {
    body.size += slice.byteLength;
    body.crc32 = crc32(slice, body.crc32);
  }
  return { ...file, crc32: fileCrc32(index, size), bodySize: body.size, bodyCrc32: body.crc32 };
}

export function fileCrc32(index: number, size: number): number {
  let checksum = 0;
  for (const slice of slicesOf(benchSeed, index, 0, size)) checksum = crc32(slice, checksum);
  return checksum;
}

/** Requests for files over one connection. */
export function sessionOver(connection: Connection, { baseUrl, path, token }: Target): FileSession {
  const base = path.replace(/\/[^/]*$/, '');
  return { seed: benchSeed, url: baseUrl, base, token, files: {}, senderOf: () => connection };
}

/** Uploads one file after another over a connection, which is opened again after an error: its state is not known. */
export class Uploader {
  readonly #target: Target;
  #connection: Connection;

  private constructor(target: Target, connection: Connection) {
    this.#target = target;
    this.#connection = connection;
  }

  static async open(target: Target): Promise<Uploader> {
    return new Uploader(target, await Connection.open(target.baseUrl));
  }

  /** Sends the file as fast as the server takes it. */
  async upload(file: BenchFile): Promise<SentUpload> {
    if (this.#connection.closed) this.#connection = await Connection.open(this.#target.baseUrl);
    const sent = await timed(file, () => this.#send(file));
    if (sent.problem !== null) this.#connection.close();
    return sent;
  }

  close(): void {
    this.#connection.close();
  }

  async #send(file: BenchFile): Promise<string> {
    const { path, chunkBytes } = this.#target;
    const exchange = new Exchange(sessionOver(this.#connection, this.#target), new AbortController().signal);
    if (chunkBytes === undefined) return sendForm(exchange, path, formBody(exchange, file));
    const lastFields = 'Accept: application/json\r\n';
    const { answer } = await sendTus(exchange, file, { endpoint: path, chunkBytes, lastFields });
    return jsonOf<{ name: string }>(answer).name;
  }
}

/** @param send resolves with the server's name for the file */
export async function timed(file: BenchFile, send: () => Promise<string>): Promise<SentUpload> {
  const { name: fileName, bytes: size, crc32, bodySize, bodyCrc32 } = file;
  const begun = performance.now();
  let [status, name, problem]: [number, string | null, string | null] = [0, null, null];
  try {
    name = await send();
    status = 200;
  } catch (error) {
    if (error instanceof Refusal) status = error.status;
    problem = `${fileName}: ${error instanceof Error ? error.message : String(error)}`;
  }
  const milliseconds = performance.now() - begun;
  return { fileName, size, crc32, bodySize, bodyCrc32, status, name, milliseconds, problem };
}
