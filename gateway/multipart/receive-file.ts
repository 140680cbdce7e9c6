import {
  invalidMultipart,
  missingFilePart,
  overloaded,
  payloadTooLarge,
  requestTimeout,
} from '../../common/errors/catalogue.ts';
import type { BodySink, RequestBody } from '../../common/http/http-types.ts';
import type { ObjectWriter } from '../../common/object-store/object-store.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import { type ChecksumCheck, checkFile, readFileChecksums } from './file-checksums.ts';
import { MultipartParser } from './multipart-parser.ts';
import { type Assembled, PartAssembler, type PartRules } from './part-assembler.ts';
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

/** A file whose bytes have all arrived: its writer waits for `complete` with the last part, or for `abort`. */
export interface ReceivedFile extends Assembled {
  readonly part: FilePart;
  /** Gives the memory of the last part back, once the writer is done with it. Call it in any case. */
  readonly release: () => void;
}

export interface ReceiveFileArgs {
  readonly boundary: string;
  readonly body: Pick<RequestBody, 'contentLength' | 'consume' | 'resume'>;
  readonly rules: PartRules;
  readonly memory: UploadMemory;
  readonly maxFileBytes: number;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  /** Begins the object for the file part. Its signal is aborted as soon as the upload fails. */
  readonly begin: (file: FilePart, signal: AbortSignal) => Promise<ObjectWriter>;
}

/**
 * Takes a multipart body and stores the bytes of its part named `file`, no faster than store and memory allow; nothing
 * is read before there is memory for it. Resolves when the body was a whole form with one file. Rejects with 400,
 * 408, 413, 503 or what the store or the body failed with, after the object has been aborted, so that nothing is left.
 */
export function receiveFile(args: ReceiveFileArgs): Promise<ReceivedFile> {
  const { body, maxFileBytes, maxBodyBytes } = args;
  // AbortSignal.any would do the same for five times the CPU
  const stopped = new AbortController();
  const { signal } = stopped;
  let resolve: (file: ReceivedFile) => void;
  let reject: (error: unknown) => void;
  const received = new Promise<ReceivedFile>((onReceived, onFailed) => {
    resolve = onReceived;
    reject = onFailed;
  });

  let bodyBytes = 0;
  let fileBytes = 0;
  let file: FilePart | null = null;
  let checksums: ChecksumCheck | null = null;
  let settled = false;
  let consuming = false;
  /** The memory allows to read on. */
  let admitted = false;
  /** The socket was told to stop. */
  let paused = false;
  let bodyOver = false;
  let formOver = false;

  const fail = (error: unknown): void => {
    if (settled) return;
    settled = true;
    stopped.abort(error);
    lease.idle();
    void parts.abort().then(() => {
      lease.close();
      reject(error);
    });
  };

  const lease = args.memory.open({
    pause() {
      admitted = false;
    },
    resume() {
      admitted = true;
      if (settled) return;
      if (consuming) return goOn();
      consuming = true;
      body.consume(sink);
    },
    cut(reason) {
      fail(
        reason === 'slow'
          ? requestTimeout('The upload was too slow while others waited for its memory')
          : overloaded('too many uploads wait for memory'),
      );
    },
  });

  const parts = new PartAssembler({
    rules: args.rules,
    maxBytes: body.contentLength ?? Number.POSITIVE_INFINITY,
    memory: lease,
    onRoom() {
      if (settled || bodyOver || parts.blocked) return;
      lease.want();
      goOn();
    },
    onError: fail,
  });

  const goOn = (): void => {
    if (!paused || !admitted || settled || parts.blocked) return;
    paused = false;
    body.resume();
  };

  const parser = new MultipartParser(args.boundary, {
    onPart: (head) => (head.name === filePartName ? storeFile(head) : skip(head)),
    onEnd() {
      formOver = true;
      if (bodyOver) finish();
    },
    onError: fail,
  });

  const finish = (): void => {
    const part = file;
    if (part === null) {
      fail(missingFilePart());
      return;
    }
    parts
      .finish((crc32) => checksums?.finish(crc32))
      .then((assembled) => {
        const release = (): void => {
          parts.release(assembled.last);
          lease.close();
        };
        if (settled) return;
        settled = true;
        resolve({ ...assembled, part, release });
      }, fail);
  };

  const storeFile = (head: PartHead): ((chunk: Uint8Array) => void) => {
    if (head.fileName === undefined) throw missingFilePart();
    if (file !== null) {
      throw invalidMultipart('The form has two parts named "file": only one file is accepted');
    }
    const check = checkFile(readFileChecksums(head.headers));
    checksums = check;
    file = { fileName: head.fileName, contentType: head.contentType };
    parts.start(args.begin(file, signal));
    return (chunk) => {
      fileBytes += chunk.byteLength;
      if (fileBytes > maxFileBytes) throw payloadTooLarge(maxFileBytes, 'File');
      check.update(chunk);
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

  const sink: BodySink = {
    write(chunk) {
      // an upload that has failed reads no more; whoever answers the request decides what to do with the rest
      if (settled) return false;
      bodyBytes += chunk.byteLength;
      try {
        if (bodyBytes > maxBodyBytes) throw payloadTooLarge(maxBodyBytes, 'Request body');
        parser.feed(chunk);
      } catch (error) {
        fail(error);
        return false;
      }
      lease.arrived(chunk.byteLength);
      // the store's turn: memory is for those who can use it
      if (parts.blocked) {
        admitted = false;
        lease.idle();
      }
      paused = !admitted;
      return admitted;
    },
    end() {
      bodyOver = true;
      if (settled) return;
      lease.idle();
      if (formOver) finish();
      else parser.end();
    },
    fail,
  };
  const onAbort = (): void => {
    fail(args.signal.reason);
    // also when all has been received: the object has yet to be completed
    stopped.abort(args.signal.reason);
  };
  args.signal.addEventListener('abort', onAbort, { once: true });
  if (args.signal.aborted) onAbort();
  else lease.want();
  return received;
}
