import { crc32 } from 'node:zlib';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { UploadMemory } from '#gateway/memory/upload-memory.ts';
import { FileChecksums } from '#gateway/multipart/file-checksums.ts';
import { type FilePart, type ReceiveFileArgs, receiveFile } from '#gateway/multipart/receive-file.ts';
import type { ReceivedObject } from '#gateway/receive/receive-body.ts';
import type { ObjectWriter, Part } from '#objects/object-store.ts';
import type { BodySink, RequestBody } from '#server/http/http-types.ts';

/** One part of a form; a text disposition replaces the one made from the name and file name. */
export interface FormPart {
  readonly name?: string;
  readonly fileName?: string;
  readonly headers?: readonly string[];
  readonly content: string | Uint8Array;
}

/** A multipart body as browsers write it. */
export function formBody(boundary: string, parts: readonly FormPart[]): Buffer {
  const pieces: Uint8Array[] = [];
  for (const part of parts) {
    const fileName = part.fileName === undefined ? '' : `; filename="${part.fileName}"`;
    const disposition =
      part.name === undefined ? [] : [`Content-Disposition: form-data; name="${part.name}"${fileName}`];
    const head = [`--${boundary}`, ...disposition, ...(part.headers ?? []), '', ''].join('\r\n');
    pieces.push(Buffer.from(head), Buffer.from(part.content as string), Buffer.from('\r\n'));
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return Buffer.concat(pieces);
}

/** Keeps what is written to it in memory, and notes how it is used. Each call waits for `gate`. */
export class RecordingWriter implements ObjectWriter {
  readonly parts: Buffer[] = [];
  completed = 0;
  aborted = 0;
  writing = 0;
  mostAtOnce = 0;
  gate: () => Promise<void> = () => Promise.resolve();

  get content(): Buffer {
    return Buffer.concat(this.parts);
  }

  async writePart(part: Part): Promise<void> {
    if (this.aborted + this.completed > 0) throw new Error('writePart after the end');
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.writing);
    const index = this.parts.push(Buffer.alloc(0)) - 1;
    const before = this.#check(part);
    await this.gate();
    if (!before.equals(Buffer.concat(part.chunks)))
      throw new Error('a part changed while it was being written');
    this.parts[index] = before;
    this.writing--;
  }

  async complete(last: Part): Promise<void> {
    if (this.writing > 0) throw new Error('complete while parts are under way');
    if (last.size > 0) this.parts.push(this.#check(last));
    this.completed++;
  }

  async abort(): Promise<void> {
    this.aborted++;
  }

  #check(part: Part): Buffer {
    const bytes = Buffer.concat(part.chunks);
    if (bytes.byteLength !== part.size) throw new Error('a part has another size than it says');
    if (crc32(bytes) !== part.crc32) throw new Error('a part has another checksum than it says');
    return bytes;
  }
}

/** A request body that a test feeds by hand, by the rules of RequestBody. */
export class FakeBody implements Pick<RequestBody, 'contentLength' | 'consume' | 'resume'> {
  readonly contentLength: number | undefined;
  sink: BodySink | null = null;
  #resumed: (() => void) | null = null;

  constructor(contentLength?: number) {
    this.contentLength = contentLength;
  }

  consume(sink: BodySink): void {
    this.sink = sink;
  }

  resume(): void {
    this.#resumed?.();
  }

  resumed(): Promise<void> {
    return new Promise((resolve) => {
      this.#resumed = resolve;
    });
  }
}

export interface Upload {
  readonly writer: RecordingWriter;
  readonly body: FakeBody;
  readonly memory: UploadMemory;
  readonly begun: FilePart[];
  readonly sink: BodySink;
  readonly received: Promise<ReceivedObject>;
  /** Feeds chunks as a socket would, and waits where the sink asks for it; stops when the upload has settled. */
  send(chunks: Iterable<Uint8Array>): Promise<void>;
}

/** Memory that is never short. */
export function plentyOfMemory(): UploadMemory {
  const megabyte = 1024 * 1024;
  return new UploadMemory({
    bytes: 256 * megabyte,
    largestPart: 8 * megabyte,
    minRate: 0,
    ratePeriod: 1e9,
    waitLimit: 1e9,
  });
}

/** A pool is 33 MB: uploads of tests share one. */
const sharedMemory = plentyOfMemory();

export interface UploadArgs extends Partial<Omit<ReceiveFileArgs, 'body'>> {
  readonly body?: FakeBody;
  readonly writer?: RecordingWriter;
  readonly partBytes?: number;
  readonly concurrentParts?: number;
  readonly shortParts?: boolean;
}

export function startUpload(args: UploadArgs = {}): Upload {
  const { writer = new RecordingWriter(), body = new FakeBody(), memory = sharedMemory } = args;
  const { partBytes = 64 * 1024, concurrentParts = 1, shortParts = false } = args;
  const begun: FilePart[] = [];
  const received = receiveFile({
    boundary: 'B',
    checksums: new FileChecksums(),
    rules: { concurrentParts, shortParts, partBytes: () => partBytes },
    digests: noDigests,
    account: 'ada',
    maxFileBytes: 10_000_000,
    maxBodyBytes: 11_000_000,
    signal: new AbortController().signal,
    begin: async (file) => {
      begun.push(file);
      return writer;
    },
    ...args,
    memory,
    body,
  });
  let settled = false;
  const settle = () => {
    settled = true;
    body.resume();
  };
  received.then(settle, settle);
  const sink = body.sink as BodySink;
  return {
    writer,
    body,
    memory,
    begun,
    sink,
    received,
    async send(chunks) {
      for (const chunk of chunks) {
        if (settled) return;
        // the socket's memory is gone when write returns
        const bytes = new Uint8Array(chunk);
        const resumed = body.resumed();
        const goOn = sink.write(bytes);
        bytes.fill(0xee);
        if (!goOn && !settled) await resumed;
      }
      if (!settled) sink.end();
    },
  };
}

/** Sends a whole body, has the object completed, and answers what came of it. */
export async function receive(
  chunks: Iterable<Uint8Array>,
  args: UploadArgs = {},
): Promise<Upload & { file: ReceivedObject }> {
  const upload = startUpload(args);
  const sent = upload.send(chunks);
  const file = await upload.received;
  await sent;
  await file.writer.complete(file.last);
  file.release();
  if (upload.memory.used !== 0) throw new Error('memory was not given back');
  return { ...upload, file };
}

export function* inChunks(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}
