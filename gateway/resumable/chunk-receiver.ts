import { payloadTooLarge, uploadConflict } from '#kernel/errors/catalogue.ts';
import type { ObjectStore, ObjectWriter, Part, ResumableWriter } from '#objects/object-store.ts';
import type { RequestBody } from '#server/http/http-types.ts';
import { type Digests, noDigests } from '../digest/file-digests.ts';
import { InspectedDraft } from '../files/inspected-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import type { FileHead } from '../inspect/file-head.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import {
  type BodyReader,
  type ObjectStage,
  type ReceivedObject,
  receiveBody,
} from '../receive/receive-body.ts';
import { RestThenBody } from './rest-then-body.ts';
import type { StateStore } from './state-store.ts';
import type { ChunkCheck } from './tus-headers.ts';
import { takenOver, type UploadLease } from './upload-leases.ts';
import { offsetOf, type Remainder, type UploadState } from './upload-state.ts';

/** Interval between saves of the offset while bytes come. Milliseconds. */
const saveEvery = 1000;
/** Time limit of the stores for the end of a request whose client may be gone. Milliseconds. */
const endTimeout = 60_000;
/** How long a request may finish its work once another request takes over the upload. Milliseconds. */
const yieldTimeout = 1500;

export interface ChunkReceiverDeps {
  readonly store: Pick<ObjectStore, 'resume' | 'concurrentParts' | 'shortParts'>;
  readonly states: StateStore;
  readonly memory: UploadMemory;
  readonly digests: Digests;
}

export interface ChunkReceiverArgs {
  readonly state: UploadState;
  readonly lease: UploadLease;
  readonly body: Pick<RequestBody, 'contentLength' | 'consume' | 'resume'>;
  /** Checks the bytes of this request. Null: bytes of an incomplete body count. */
  readonly check: ChunkCheck | null;
  /** The upload ends where the body does. */
  readonly isLast?: boolean;
  /** Limit of an upload without a known length. */
  readonly maxBytes: number;
  /** Called with every saved offset. @returns the error that refuses more bytes; null: continue */
  readonly onSaved: (offset: number) => Error | null;
}

/** The bytes of one request. */
export type Chunk = Pick<ChunkReceiverArgs, 'body' | 'check' | 'isLast'>;

/** An upload after one request. */
export interface ReceivedChunk {
  readonly state: UploadState;
  /** Set when all bytes have arrived and a single request stored the whole object. */
  readonly stored: { readonly crc32: number } | null;
  /** Digest of all bytes, if this request brought them all and files have digests. */
  readonly sha256?: string | undefined;
  /** Why no more bytes came; null: the body was complete. */
  readonly failure: unknown;
}

/**
 * Appends the bytes of one request to an upload, through the same stages as a form, in parts at fixed offsets. Stored
 * bytes survive the request, however it ends, and count once their offset is saved.
 */
export class ChunkReceiver {
  readonly #deps: ChunkReceiverDeps;
  readonly #args: ChunkReceiverArgs;
  readonly #stopped = new AbortController();
  #state: UploadState;
  #writer: ResumableWriter | null = null;
  #whole: RestThenBody | null = null;
  /** The last bytes, too few for a part. */
  #rest: Remainder | null = null;
  /** Bytes of this request. */
  #received = 0;
  #saving: Promise<void> = Promise.resolve();
  #saveTimer: NodeJS.Timeout | undefined;

  constructor(deps: ChunkReceiverDeps, args: ChunkReceiverArgs) {
    this.#deps = deps;
    this.#args = args;
    this.#state = args.state;
  }

  /** Rejects only when the new bytes could not be saved; the upload is then unchanged. */
  async run(): Promise<ReceivedChunk> {
    const { state, lease, body } = this.#args;
    const { rest } = state;
    const before = rest && {
      bytes: rest.size,
      chunks: this.#deps.states.readRest(rest, this.#stopped.signal),
    };
    const whole = new RestThenBody(before, body);
    this.#whole = whole;
    let yielding: NodeJS.Timeout | undefined;
    lease.onYield = () => {
      const reason = takenOver();
      if (!whole.stop(reason)) this.#stopped.abort(reason);
      yielding = setTimeout(() => this.#stopped.abort(reason), yieldTimeout);
    };
    try {
      return await this.#receive(whole);
    } finally {
      whole.close();
      clearTimeout(yielding);
    }
  }

  async #receive(whole: RestThenBody): Promise<ReceivedChunk> {
    const { state } = this.#args;
    const { store, memory, digests } = this.#deps;
    let received: ReceivedObject;
    try {
      received = await receiveBody({
        body: whole,
        rules: {
          concurrentParts: store.concurrentParts,
          shortParts: store.shortParts,
          partBytes: () => state.partBytes,
        },
        memory,
        digests: offsetOf(state) === 0 && state.concat !== 'partial' ? digests : noDigests,
        account: state.file.ownerId,
        maxBodyBytes: Number.POSITIVE_INFINITY,
        signal: this.#stopped.signal,
        reader: (object) => this.#reader(object, whole),
      });
    } catch (error) {
      return this.#keep(error);
    }
    try {
      return { ...(await this.#end(received, whole.failure)), sha256: received.sha256 };
    } catch (error) {
      return await this.#keep(error);
    } finally {
      received.release();
    }
  }

  #reader(object: ObjectStage, whole: RestThenBody): BodyReader {
    const { state, check, maxBytes, isLast = false } = this.#args;
    object.begin((_, head) => this.#open(head));
    let restBytes = state.rest?.size ?? 0;
    const most = (state.length ?? maxBytes) - offsetOf(state);
    return {
      feed: (chunk) => {
        if (restBytes > 0) {
          restBytes -= chunk.byteLength;
        } else {
          this.#received += chunk.byteLength;
          if (this.#received > most) throw payloadTooLarge(state.length ?? maxBytes, 'The upload');
          check?.update(chunk);
        }
        object.write(chunk);
      },
      end: () => {
        if (isLast && whole.failure === null)
          this.#state = { ...this.#state, length: offsetOf(state) + this.#received };
        // "If [...] the checksum does not match, the chunk MUST be discarded": so is an incomplete one
        if (whole.failure !== null && check !== null) object.fail(whole.failure);
        else object.finish(() => check?.finish(), !this.#isAll);
      },
    };
  }

  async #open(head: FileHead): Promise<ObjectWriter> {
    const { file, written, concat, verifiedType } = this.#args.state;
    let description = objectDescription(file);
    if ((written?.size ?? 0) === 0 && concat !== 'partial') {
      const inspection = new InspectedDraft(file, verifiedType);
      description = await inspection.description(head);
      if (head.isKnown) this.#state = { ...this.#state, ...(await inspection.ended(head)) };
    }
    const writer = await this.#deps.store.resume(file.objectKey, description, written, this.#stopped.signal);
    this.#writer = writer;
    return {
      writePart: (part) => this.#store(writer, part),
      complete: () => Promise.reject(new Error('an upload is completed elsewhere')),
      abort: () => writer.suspend(),
    };
  }

  async #store(writer: ResumableWriter, part: Part): Promise<void> {
    if (part.size === 0) return;
    const { state } = this.#args;
    if (part.size < state.partBytes && !this.#deps.store.shortParts && !this.#isAll) {
      const offset = offsetOf(state) + this.#received;
      const signal = AbortSignal.timeout(endTimeout);
      this.#rest = await this.#deps.states.saveRest(state, part, offset, signal);
      return;
    }
    await writer.writePart(part);
    // these bytes have yet to be verified
    if (this.#args.check !== null) return;
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      this.#saving = this.#saving.then(() => this.#saveProgress(writer)).catch(() => {});
    }, saveEvery);
  }

  /** Whether all bytes of the upload have arrived. */
  get #isAll(): boolean {
    return offsetOf(this.#args.state) + this.#received === this.#state.length;
  }

  async #end(received: ReceivedObject, failure: Error | null): Promise<ReceivedChunk> {
    const { state } = this.#args;
    const writer = this.#writer as ResumableWriter;
    const begun = state.written !== null && state.written.size > 0;
    if (this.#isAll && !begun && received.last.size === received.size) {
      // nothing is stored yet: one request stores the whole object or nothing
      if (!(await this.#args.lease.pin())) throw takenOver();
      await writer.complete(received.last);
      return { state: this.#state, stored: { crc32: received.crc32 }, failure };
    }
    // a request without bytes may set the length
    const advances = this.#received > 0 || this.#isAll;
    if (advances) await this.#store(writer, received.last);
    await this.#suspend();
    const written = await writer.written();
    const rest = advances ? this.#rest : state.rest;
    const end = offsetOf(state) + this.#received;
    if (written.size + (rest?.size ?? 0) !== end)
      throw new Error('the store has a different number of bytes than it received');
    if (advances) await this.#save({ written, rest });
    return { state: this.#state, stored: null, failure };
  }

  /** After a failure, parts that are stored without a gap count, unless a checksum has yet to verify them. */
  async #keep(failure: unknown): Promise<ReceivedChunk> {
    const { check, state } = this.#args;
    await this.#suspend();
    if (this.#writer !== null && check === null) await this.#saveProgress(this.#writer).catch(() => {});
    const { rest } = this.#state;
    if (this.#received === 0 && rest !== null && rest === state.rest && !(await this.#hasRest(rest))) {
      await this.#save({ written: state.written, rest: null });
      return {
        state: this.#state,
        stored: null,
        failure: uploadConflict('The last bytes have to be sent again'),
      };
    }
    return { state: this.#state, stored: null, failure };
  }

  async #suspend(): Promise<void> {
    await this.#writer?.suspend();
    clearTimeout(this.#saveTimer);
    await this.#saving;
  }

  async #hasRest(rest: Remainder): Promise<boolean> {
    return this.#deps.states.hasRest(rest, AbortSignal.timeout(endTimeout)).catch(() => true);
  }

  async #saveProgress(writer: ResumableWriter): Promise<void> {
    const written = await writer.written();
    // the remainder comes after the earlier parts
    if (written.size > offsetOf(this.#state)) await this.#save({ written, rest: null });
  }

  async #save(progress: Pick<UploadState, 'written' | 'rest'>): Promise<void> {
    const state = { ...this.#state, ...progress, savedAt: Date.now() };
    await this.#args.lease.save((signal) => this.#deps.states.save(state, signal));
    this.#state = state;
    const refused = this.#args.onSaved(offsetOf(state));
    if (refused !== null) this.#whole?.stop(refused);
  }
}
