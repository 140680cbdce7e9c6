import type { FileSenders } from '#auth/file-senders.ts';
import type { Projects } from '#catalogue/projects.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { uploadConflict } from '#kernel/errors/catalogue.ts';
import type { AccountQuota } from '#kernel/limits/account-quota.ts';
import { createSharedDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { assertMayUpload } from '../access/bound-files.ts';
import type { CountedFile, Quota } from '../access/storage-quota.ts';
import type { CloudFile, HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import { fileOfDraft } from '../files/file-draft.ts';
import { InspectedDraft } from '../files/inspected-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import { inspectObject } from '../inspect/inspect-object.ts';
import { FileChecksums } from '../multipart/file-checksums.ts';
import type { StateStore } from './state-store.ts';
import type { UploadLease } from './upload-leases.ts';
import type { Remainder, UploadState } from './upload-state.ts';

export interface UploadEndsDeps {
  readonly store: Pick<ObjectStore, 'resume' | 'dropWritten' | 'head' | 'delete' | 'read'>;
  readonly digests: Digests;
  readonly states: StateStore;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'insert' | 'findAny'>;
  readonly projects: Pick<Projects, 'ensure'>;
  /** Of a file that nobody has scanned. */
  readonly newState?: HiddenState | undefined;
  readonly quota: Quota;
  readonly usage: Pick<UsageCounts, 'add'>;
  readonly boundAs: FileSenders['boundAs'];
  readonly log: Log;
}

/** Time limit of the stores once all bytes have arrived. Milliseconds. */
export const finishTimeout = 60_000;
/** The slowest expected read from the object store. Bytes per millisecond. */
const slowestRead = 1000;
const finishDeadline = createSharedDeadline(finishTimeout);

/** Progress of an upload; `file` is set once it is complete. */
export type Progress = { readonly state: UploadState; readonly file: null } | { readonly file: CloudFile };

/** Ends uploads: makes files of them, or drops them. */
export class UploadEnds {
  readonly #deps: UploadEndsDeps;
  readonly #open: Pick<AccountQuota, 'freed'>;
  readonly #work: Set<Promise<unknown>>;

  /** @param args.open counts incomplete uploads @param args.work no answer waits for it, but a stop does */
  constructor(
    deps: UploadEndsDeps,
    { open, work }: { open: Pick<AccountQuota, 'freed'>; work: Set<Promise<unknown>> },
  ) {
    this.#deps = deps;
    this.#open = open;
    this.#work = work;
  }

  /** Makes an object of the written bytes, unless it exists already, and a file of the object. */
  async finish(state: UploadState, lease: UploadLease, sha256?: string): Promise<Progress> {
    const { store } = this.#deps;
    const { file, written } = state;
    if (!(await lease.pin())) throw uploadConflict('Another request is completing the upload');
    const signal = AbortSignal.timeout(finishTimeout);
    await this.assertAllowed(state, signal);
    if ((await store.head(file.objectKey, signal)) === null) {
      const writer = await store.resume(file.objectKey, objectDescription(file), written, signal);
      await writer.complete({ chunks: [], size: 0, crc32: 0 });
    }
    return this.store(state, written?.crc32 ?? 0, sha256);
  }

  /**
   * Makes the row of a stored object, and removes the state of its upload. A partial upload waits to be joined.
   * @param known SHA-256, if one request brought all bytes; otherwise they are read again
   */
  async store(received: UploadState, crc32: number, known?: string): Promise<Progress> {
    let signal = finishDeadline();
    if (received.concat === 'partial') {
      await this.#digestOf(received, crc32);
      return this.#keepPart(received, finishDeadline());
    }
    let state = received;
    const { ownerId, projectSlug, name } = state.file;
    await this.#deps.projects.ensure(ownerId, projectSlug, signal);
    const size = state.length ?? 0;
    // it may be in the trash by now, if only the state was left
    let file = await this.#deps.cloudFiles.findAny(name, signal);
    if (file === null) {
      const inspected = await this.#inspectedOrRefusal(state, signal);
      if (inspected instanceof ApiError) {
        await this.#takeBack(state, signal);
        throw inspected;
      }
      state = inspected;
      const sha256 = await this.#digestOf(state, crc32, known);
      // the digest may have taken longer
      signal = finishDeadline();
      const now = new Date();
      file = fileOfDraft(
        state.file,
        { size, crc32, sha256, ...state.sizes, state: this.#deps.newState },
        now,
      );
      let counted: CountedFile;
      try {
        // its bytes have been counted since they arrived
        counted = await this.#deps.quota.claim(ownerId, 0, signal);
      } catch (error) {
        // other files have used up the quota meanwhile
        await this.#takeBack(state, signal);
        throw error;
      }
      try {
        await this.#insert(file, counted, signal);
      } catch (error) {
        // another file took its path: the client begins again with another one
        if (error instanceof ApiError && error.code === 'file_exists')
          await this.#takeBack(state, finishDeadline());
        throw error;
      }
    }
    // the file exists: leftovers of its upload do no harm
    await this.#forget(state, signal).catch((err: unknown) => {
      this.#deps.log.warn({ err, name }, 'the state of an upload is left to the janitor');
    });
    return { file };
  }

  /** With the type and the size of its bytes, if no request saw the first ones. Throws 403 for bytes of another type. */
  async #inspected(state: UploadState, signal: AbortSignal): Promise<UploadState> {
    const { file, length, verifiedType, sizes } = state;
    if (sizes !== undefined) return state;
    const inspection = new InspectedDraft(file, verifiedType);
    const object = { key: file.objectKey, size: length ?? 0 };
    const bytes = await inspectObject(this.#deps.store, object, inspection.asks, signal);
    return { ...state, ...inspection.of(bytes) };
  }

  /** Throws 403 or 413 if rules of this moment do not allow the file of a bound upload. */
  async assertAllowed({ bound, file, length }: UploadState, signal: AbortSignal): Promise<void> {
    if (bound === undefined) return;
    const { ownerId, projectSlug, owner = null } = file;
    const sender = await this.#deps.boundAs(ownerId, projectSlug, owner, signal);
    assertMayUpload(sender, file, length ?? undefined);
  }

  /** An error: its bytes, or rules, refuse the file. Rejects if they can't be read now: that refuses nothing. */
  async #inspectedOrRefusal(state: UploadState, signal: AbortSignal): Promise<UploadState | ApiError> {
    try {
      const inspected = await this.#inspected(state, signal);
      await this.assertAllowed(inspected, signal);
      return inspected;
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return error;
      throw error;
    }
  }

  /** Removes the object of an upload that is refused, if a crash left one. @returns whether it is refused */
  async removeRefused(state: UploadState, signal: AbortSignal): Promise<boolean> {
    const { cloudFiles, store } = this.#deps;
    const { name, objectKey } = state.file;
    if (state.bound === undefined && state.verifiedType === undefined) return false;
    if ((await store.head(objectKey, signal)) === null) return false;
    if (!((await this.#inspectedOrRefusal(state, signal)) instanceof ApiError)) return false;
    // a file whose state was left over is not refused any more
    if ((await cloudFiles.findAny(name, signal)) !== null) return false;
    await store.delete(objectKey, signal);
    return true;
  }

  /**
   * The SHA-256, if files have digests. Throws 400, and removes the bytes, when they do not match the client's digest.
   * One read serves both. The deadline grows with the size: with a fixed one, a large file would fail on every retry.
   */
  async #digestOf(state: UploadState, crc32: number, known?: string): Promise<string | undefined> {
    const { digests, store } = this.#deps;
    const { file, length, reprDigest, concat } = state;
    const checksums = new FileChecksums();
    if (reprDigest !== undefined) checksums.expect('repr-digest', reprDigest);
    checksums.begin();
    const limit = finishTimeout + Math.ceil((length ?? 0) / slowestRead);
    const read = () => store.read(file.objectKey, null, AbortSignal.timeout(limit));
    const bytes = checking(read, checksums);
    const sha256 = known ?? (concat === 'partial' ? undefined : await digests.of(bytes));
    // reads nothing if a digest was computed above
    if (checksums.any) for await (const _ of bytes);
    try {
      checksums.finish(crc32);
    } catch (error) {
      await this.#takeBack(state, finishDeadline());
      throw error;
    }
    return sha256;
  }

  /** Removes an object that must not become a file, and the state of its upload. */
  async #takeBack(state: UploadState, signal: AbortSignal): Promise<void> {
    await this.#deps.store.delete(state.file.objectKey, signal);
    await this.#forget(state, signal);
  }

  async #keepPart(state: UploadState, signal: AbortSignal): Promise<Progress> {
    const rest = { key: state.file.objectKey, size: state.length ?? 0 };
    const whole = { ...state, written: null, rest, savedAt: Date.now() };
    await this.#deps.states.save(whole, signal);
    if (state.rest !== null && state.rest.key !== rest.key) this.removeRest(state.rest);
    return { state: whole, file: null };
  }

  /** Drops an upload. The state is removed last, because it names the rest. */
  async drop(state: UploadState, signal: AbortSignal): Promise<void> {
    const { file, written, rest } = state;
    // without its state, nobody would know that the object was refused
    await this.removeRefused(state, signal);
    await this.#deps.store.dropWritten(file.objectKey, written, signal);
    if (rest !== null) await this.#deps.states.removeRest(rest, signal);
    await this.#remove(state, signal);
  }

  /** Continues in the background. */
  removeRest(rest: Remainder): void {
    const removed = this.#deps.states
      .removeRest(rest, AbortSignal.timeout(finishTimeout))
      .catch((err: unknown) =>
        this.#deps.log.warn({ err, key: rest.key }, 'bytes of an upload are left to the janitor'),
      )
      .finally(() => this.#work.delete(removed));
    this.#work.add(removed);
  }

  async #insert(file: CloudFile, counted: CountedFile, signal: AbortSignal): Promise<void> {
    const { cloudFiles, usage } = this.#deps;
    const rowIsOver = cloudFiles.announce();
    let stored = false;
    try {
      await cloudFiles.insert(file, signal);
      stored = true;
      usage.add(file.ownerId, file.projectSlug, { files: 1, bytesStored: file.size });
    } finally {
      rowIsOver();
      counted(stored);
    }
  }

  async #forget(state: UploadState, signal: AbortSignal): Promise<void> {
    await this.#remove(state, signal);
    if (state.rest !== null) this.removeRest(state.rest);
  }

  async #remove({ file, concat }: UploadState, signal: AbortSignal): Promise<void> {
    const { states, quota } = this.#deps;
    await states.remove(states.addressOf(file), signal);
    if (concat !== 'final') this.#open.freed(file.ownerId, 1);
    // its bytes now belong to a file, or are removed: an earlier count may have them twice
    quota.freed(file.ownerId);
  }
}

/** Adds chunks to the checksums as they are read. Reads nothing before the first chunk is taken. */
async function* checking(
  read: () => AsyncIterable<Uint8Array>,
  checksums: FileChecksums,
): AsyncIterable<Uint8Array> {
  for await (const chunk of read()) {
    checksums.update(chunk);
    yield chunk;
  }
}
