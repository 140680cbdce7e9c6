import { crc32 } from 'node:zlib';
import { invalidMultipart, missingFilePart, payloadTooLarge } from '../../common/errors/catalogue.ts';
import type { BodySink, RequestBody } from '../../common/http/http-types.ts';
import type { ObjectWriter } from '../../common/object-store/object-store.ts';
import { MultipartParser } from './multipart-parser.ts';
import { PartBuffers } from './part-buffers.ts';
import type { PartHead } from './part-head.ts';

/** Name of the part that is stored (interface.md section 4.1). */
const filePartName = 'file';
const maxFieldBytes = 1024 * 1024;

export interface FilePart {
  /** As sent. */
  readonly fileName: string;
  /** As sent. */
  readonly contentType: string | undefined;
}

/** A file whose bytes are all with the store: its writer waits for `complete` or `abort`. */
export interface ReceivedFile {
  readonly part: FilePart;
  readonly writer: ObjectWriter;
  /** Bytes. */
  readonly size: number;
  readonly crc32: number;
}

export interface MultipartSinkArgs {
  readonly boundary: string;
  readonly body: Pick<RequestBody, 'contentLength' | 'resume' | 'reserveMemory'>;
  readonly partBytes: number;
  readonly maxFileBytes: number;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  /** Begins the object for the file part. Its signal is aborted as soon as the upload fails. */
  readonly begin: (file: FilePart, signal: AbortSignal) => Promise<ObjectWriter>;
}

export interface MultipartSink {
  readonly sink: BodySink;
  /**
   * Resolves when the body was a whole form with one file. Rejects with 400, 413, 503 or what the store or the body
   * failed with, after the object has been aborted, so that nothing of it is left.
   */
  readonly received: Promise<ReceivedFile>;
}

/** Takes a multipart body and stores the bytes of its part named `file`, no faster than the store takes them. */
export function createMultipartSink(args: MultipartSinkArgs): MultipartSink {
  const { body, maxFileBytes, maxBodyBytes } = args;
  const failed = new AbortController();
  const signal = AbortSignal.any([args.signal, failed.signal]);
  let resolve: (file: ReceivedFile) => void;
  let reject: (error: unknown) => void;
  const received = new Promise<ReceivedFile>((onReceived, onFailed) => {
    resolve = onReceived;
    reject = onFailed;
  });

  let bodyBytes = 0;
  let fileBytes = 0;
  let checksum = 0;
  let file: FilePart | null = null;
  let settled = false;
  /** A copy of what could not be handed on yet. */
  let waiting: Uint8Array | null = null;
  let paused = false;
  /** The last byte has arrived; some may still be waiting. */
  let ended = false;
  let bodyOver = false;
  let formOver = false;

  const fail = (error: unknown): void => {
    if (settled) return;
    settled = true;
    waiting = null;
    failed.abort(error);
    void parts.abort().then(() => reject(error));
  };

  const onRoom = (): void => {
    if (settled || !paused) return;
    try {
      const rest = waiting === null ? null : feed(waiting);
      if (settled) return;
      waiting = rest;
      if (rest !== null || parts.room() === 0) return;
    } catch (error) {
      fail(error);
      return;
    }
    paused = false;
    if (ended) endOfBody();
    else body.resume();
  };

  const parts = new PartBuffers({
    partBytes: args.partBytes,
    maxBytes: body.contentLength ?? Number.POSITIVE_INFINITY,
    reserveMemory: (bytes) => body.reserveMemory(bytes),
    onRoom,
    onError: fail,
  });

  const parser = new MultipartParser(args.boundary, {
    onPart: (head) => (head.name === filePartName ? storeFile(head) : skip(head)),
    onEnd() {
      formOver = true;
      if (bodyOver) finish();
    },
    onError: fail,
  });

  const endOfBody = (): void => {
    bodyOver = true;
    if (formOver) finish();
    else parser.end();
  };

  const finish = (): void => {
    const part = file;
    if (part === null) {
      fail(missingFilePart());
      return;
    }
    parts.finish().then((writer) => {
      if (settled) return;
      settled = true;
      resolve({ part, writer, size: fileBytes, crc32: checksum });
    }, fail);
  };

  const storeFile = (head: PartHead): ((chunk: Uint8Array) => void) => {
    if (head.fileName === undefined) throw missingFilePart();
    if (file !== null)
      throw invalidMultipart('The form has two parts named "file": only one file is accepted');
    file = { fileName: head.fileName, contentType: head.contentType };
    parts.start(args.begin(file, signal));
    return (chunk) => {
      fileBytes += chunk.byteLength;
      if (fileBytes > maxFileBytes) throw payloadTooLarge(maxFileBytes, 'File');
      checksum = crc32(chunk, checksum);
      parts.write(chunk);
    };
  };

  /** Other parts are none of ours; a file is bounded by the body, a field is not meant to be large. */
  const skip = (head: PartHead): ((chunk: Uint8Array) => void) => {
    let bytes = 0;
    return (chunk) => {
      bytes += chunk.byteLength;
      if (head.fileName === undefined && bytes > maxFieldBytes) {
        throw invalidMultipart(
          `The form field ${JSON.stringify(head.name.slice(0, 80))} is longer than ${maxFieldBytes} bytes`,
        );
      }
    };
  };

  /** Parses as much as there is room for, and answers the rest. */
  const feed = (bytes: Uint8Array): Uint8Array | null => {
    let rest = bytes;
    while (rest.byteLength > 0) {
      const room = parts.room();
      if (room === 0) return rest;
      parser.feed(rest.subarray(0, room));
      rest = rest.subarray(room);
    }
    return null;
  };

  const sink: BodySink = {
    write(chunk) {
      // an upload that has failed reads no more; whoever answers the request decides what to do with the rest
      if (settled) return false;
      bodyBytes += chunk.byteLength;
      try {
        if (bodyBytes > maxBodyBytes) throw payloadTooLarge(maxBodyBytes, 'Request body');
        const rest = feed(chunk);
        if (rest !== null) waiting = new Uint8Array(rest);
        paused = rest !== null || parts.room() === 0;
      } catch (error) {
        fail(error);
        return false;
      }
      return !paused;
    },
    end() {
      ended = true;
      if (!settled && !paused) endOfBody();
    },
    fail,
  };
  return { sink, received };
}
