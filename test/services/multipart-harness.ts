import type { RequestBody } from '../../common/http/http-types.ts';
import type { ObjectWriter } from '../../common/object-store/object-store.ts';
import {
  createMultipartSink,
  type FilePart,
  type MultipartSinkArgs,
  type ReceivedFile,
} from '../../gateway/multipart/multipart-sink.ts';

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
  /** The memory that parts came in: as many as there were buffers. */
  readonly buffers = new Set<ArrayBufferLike>();
  completed = 0;
  aborted = 0;
  writing = 0;
  gate: () => Promise<void> = () => Promise.resolve();

  get content(): Buffer {
    return Buffer.concat(this.parts);
  }

  async writePart(part: Uint8Array): Promise<void> {
    if (++this.writing > 1) throw new Error('two writePart calls at once');
    if (this.aborted + this.completed > 0) throw new Error('writePart after the end');
    this.buffers.add(part.buffer);
    const before = Buffer.from(part);
    await this.gate();
    if (!before.equals(part)) throw new Error('a part changed while it was being written');
    this.parts.push(before);
    this.writing--;
  }

  async complete(): Promise<void> {
    this.completed++;
  }

  async abort(): Promise<void> {
    this.aborted++;
  }
}

/** A request body that a test feeds by hand, by the rules of RequestBody. */
export class FakeBody implements Pick<RequestBody, 'contentLength' | 'resume' | 'reserveMemory'> {
  readonly contentLength: number | undefined;
  budget = Number.POSITIVE_INFINITY;
  reserved = 0;
  #resumed: (() => void) | null = null;

  constructor(contentLength?: number) {
    this.contentLength = contentLength;
  }

  resume(): void {
    this.#resumed?.();
  }

  reserveMemory(bytes: number): boolean {
    if (this.reserved + bytes > this.budget) return false;
    this.reserved += bytes;
    return true;
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
  readonly begun: FilePart[];
  readonly sink: ReturnType<typeof createMultipartSink>['sink'];
  readonly received: Promise<ReceivedFile>;
  /** Feeds chunks as a socket would, and waits where the sink asks for it; stops when the upload has settled. */
  send(chunks: Iterable<Uint8Array>): Promise<void>;
}

export function startUpload(
  args: Partial<Omit<MultipartSinkArgs, 'body'>> & { body?: FakeBody; writer?: RecordingWriter } = {},
): Upload {
  const writer = args.writer ?? new RecordingWriter();
  const body = args.body ?? new FakeBody();
  const begun: FilePart[] = [];
  const { sink, received } = createMultipartSink({
    boundary: 'B',
    partBytes: 64 * 1024,
    maxFileBytes: 10_000_000,
    maxBodyBytes: 11_000_000,
    signal: new AbortController().signal,
    begin: async (file) => {
      begun.push(file);
      return writer;
    },
    ...args,
    body,
  });
  let settled = false;
  const settle = () => {
    settled = true;
    body.resume();
  };
  received.then(settle, settle);
  return {
    writer,
    body,
    begun,
    sink,
    received,
    async send(chunks) {
      for (const chunk of chunks) {
        if (settled) return;
        // the socket's memory is gone when write returns
        const memory = new Uint8Array(chunk);
        const resumed = body.resumed();
        const goOn = sink.write(memory);
        memory.fill(0xee);
        if (!goOn && !settled) await resumed;
      }
      if (!settled) sink.end();
    },
  };
}

/** Sends a whole body and answers what came of it. */
export async function receive(
  chunks: Iterable<Uint8Array>,
  args: Parameters<typeof startUpload>[0] = {},
): Promise<Upload & { file: ReceivedFile }> {
  const upload = startUpload(args);
  const sent = upload.send(chunks);
  const file = await upload.received;
  await sent;
  return { ...upload, file };
}

export function* inChunks(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}
