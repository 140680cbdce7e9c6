import { createSharedDeadline } from '../../common/abort/shared-deadline.ts';
import { waitAtMost } from '../../common/abort/wait-at-most.ts';
import { notFound, uploadConflict, uploadExpired } from '../../common/errors/catalogue.ts';
import type { Log } from '../../common/log/log.ts';
import type { CloudFile, CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import type { RedisConnection } from '../../common/redis/redis-connection.ts';
import type { UsageCounts } from '../../common/usage/usage-counts.ts';
import type { FileDraft } from '../file-draft.ts';
import { readFileKey } from '../file-key.ts';
import { isStoredName } from '../file-name.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import { objectDescription } from '../object-description.ts';
import type { CountedFile, StorageQuota } from '../storage-quota.ts';
import { Sitting, type SittingArgs } from './sitting.ts';
import { StateStore } from './state-store.ts';
import { type UploadLease, UploadLeases } from './upload-leases.ts';
import {
  isWhole,
  offsetOf,
  type Remainder,
  stateKey,
  type UploadAddress,
  type UploadState,
} from './upload-state.ts';

export interface ResumableUploadsDeps {
  readonly deploymentId: string;
  readonly store: Pick<
    ObjectStore,
    'resume' | 'dropWritten' | 'concurrentParts' | 'shortParts' | 'partBytes' | 'head' | 'delete'
  >;
  /** Where their states lie: the same store, not measured. */
  readonly states: Pick<ObjectStore, 'create' | 'read' | 'head' | 'delete'>;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'insert' | 'findByName'>;
  readonly projects: Pick<Projects, 'ensure'>;
  readonly memory: UploadMemory;
  readonly quota?: StorageQuota | undefined;
  readonly usage?: Pick<UsageCounts, 'add'>;
  readonly maxUploadBytes: number;
  /** Milliseconds without new bytes after which an upload is over. */
  readonly expireAfter: number;
  /** Absent: no other process writes to the store. */
  readonly redis?: RedisConnection | undefined;
  readonly log: Log;
}

/** Of whom, where and which. */
export type Whose = Omit<UploadAddress, 'deploymentId'>;

/** Where an upload is after a request. `file`: it is complete. */
export type Progress = { readonly state: UploadState; readonly file: null } | { readonly file: CloudFile };

/** What the stores may take once all bytes have come. Milliseconds. */
const finishTimeout = 60_000;
const finishDeadline = createSharedDeadline(finishTimeout);

/** Uploads that go on after whatever ended them, at any gateway (docs/decisions/045-resumable-uploads.md). */
export class ResumableUploads {
  readonly #deps: ResumableUploadsDeps;
  readonly #states: StateStore;
  readonly #leases: UploadLeases;
  readonly #work = new Set<Promise<unknown>>();

  constructor(deps: ResumableUploadsDeps) {
    this.#deps = deps;
    this.#states = new StateStore({ store: deps.states, deploymentId: deps.deploymentId });
    this.#leases = new UploadLeases(deps);
  }

  get maxUploadBytes(): number {
    return this.#deps.maxUploadBytes;
  }

  get deploymentId(): string {
    return this.#deps.deploymentId;
  }

  /** When an upload ends to which no more bytes come. */
  expiryOf({ savedAt }: UploadState): Date {
    return new Date(savedAt + this.#deps.expireAfter);
  }

  /** Begins an upload. @param begun takes its first bytes, if there are any */
  async create(
    file: FileDraft,
    { length, metadata }: Pick<UploadState, 'length' | 'metadata'>,
    signal: AbortSignal,
    chunk: Omit<SittingArgs, 'state' | 'lease' | 'maxBytes'> | null,
  ): Promise<Progress> {
    const { store, quota, maxUploadBytes } = this.#deps;
    await quota?.check(file.ownerId, length ?? 0, signal);
    const longest = length === null ? maxUploadBytes : Math.min(length, maxUploadBytes);
    const state: UploadState = {
      ...{ file, metadata, length, written: null, rest: null, savedAt: Date.now() },
      partBytes: store.partBytes(0, longest),
    };
    await this.#states.save(state, signal);
    if (length !== 0 && chunk === null) return { state, file: null };
    return this.#alone(file, (lease) =>
      chunk === null ? this.#finish(state, lease) : this.#receive(state, lease, chunk),
    );
  }

  /** Takes more bytes. Throws 409 when they do not begin where the upload is. */
  append(
    whose: Whose,
    {
      offset,
      length,
      ...chunk
    }: Omit<SittingArgs, 'state' | 'lease' | 'maxBytes'> & {
      readonly offset: number;
      /** Of an upload whose length was not told. */
      readonly length: number | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<Progress> {
    return this.#alone(whose, async (lease) => {
      const progress = await this.#find(whose, lease, chunk.signal);
      if (progress.file !== null) throw uploadConflict('The upload is complete');
      const { state } = progress;
      const at = offsetOf(state);
      if (offset !== at) throw uploadConflict(`The upload has ${at} bytes, and not ${offset}`);
      return this.#receive(withLength(state, length), lease, chunk);
    });
  }

  /** Where the upload is. Whoever writes to it is ended, so that it stays there. */
  find(whose: Whose, signal: AbortSignal): Promise<Progress> {
    return this.#alone(whose, (lease) => this.#find(whose, lease, signal));
  }

  /** Its file; throws 404 while there is none. */
  async fileOf(whose: Whose, signal: AbortSignal): Promise<CloudFile> {
    const file = await this.#stored(whose, signal);
    if (file !== null) return file;
    const state = await this.#load(whose, signal);
    if (state === null) throw noUpload();
    const all = state.length ?? 'an unknown number of';
    throw notFound(`The upload has ${offsetOf(state)} of ${all} bytes: it is no file yet`);
  }

  /** Drops an upload that is not complete. */
  drop(whose: Whose, signal: AbortSignal): Promise<void> {
    return this.#alone(whose, async () => {
      const state = await this.#states.load(this.#addressOf(whose), signal);
      if (state === null && (await this.#stored(whose, signal)) !== null)
        throw uploadConflict('The upload is complete: it is a file now');
      if (state === null) throw noUpload();
      await this.#dropAll(state, AbortSignal.timeout(finishTimeout));
    });
  }

  /** Drops an upload to which no bytes came for too long; false: they did. */
  expire(whose: Whose, signal: AbortSignal): Promise<boolean> {
    return this.#alone(whose, async () => {
      const state = await this.#states.load(this.#addressOf(whose), signal);
      if (state === null || this.expiryOf(state).getTime() > Date.now()) return false;
      await this.#dropAll(state, signal);
      return true;
    });
  }

  /** Whether a remainder belongs to no upload any more. */
  async isLeft(whose: Whose, key: string, signal: AbortSignal): Promise<boolean> {
    const state = await this.#states.load(this.#addressOf(whose), signal);
    return state?.rest?.key !== key;
  }

  /** Whether an upload is on its way to become this object. */
  async isOpen(objectKey: string, signal: AbortSignal): Promise<boolean> {
    const parts = readFileKey(objectKey);
    if (parts === null) return false;
    return (await this.#deps.states.head(stateKey(parts), signal)) !== null;
  }

  /** Waits for requests whose clients are gone, or for so many milliseconds. */
  async close(milliseconds: number): Promise<void> {
    await waitAtMost(Promise.allSettled(this.#work), milliseconds);
  }

  async #alone<Result>({ name }: Whose, work: (lease: UploadLease) => Promise<Result>): Promise<Result> {
    const lease = await this.#leases.take(name);
    const done = work(lease).finally(() => {
      this.#work.delete(done);
      lease.release();
    });
    this.#work.add(done);
    return done;
  }

  async #find(whose: Whose, lease: UploadLease, signal: AbortSignal): Promise<Progress> {
    const state = await this.#load(whose, signal);
    if (state === null) {
      const file = await this.#stored(whose, signal);
      if (file === null) throw noUpload();
      return { file };
    }
    return isWhole(state) ? this.#finish(state, lease) : { state, file: null };
  }

  /** Null: there is none. Throws 410 when it has expired. */
  async #load(whose: Whose, signal: AbortSignal): Promise<UploadState | null> {
    const state = await this.#states.load(this.#addressOf(whose), signal);
    if (state !== null && this.expiryOf(state).getTime() < Date.now()) throw uploadExpired();
    return state;
  }

  async #stored({ ownerId, projectSlug, name }: Whose, signal: AbortSignal): Promise<CloudFile | null> {
    const file = await this.#deps.cloudFiles.findByName(name, signal);
    return file?.ownerId === ownerId && file.projectSlug === projectSlug ? file : null;
  }

  async #receive(
    state: UploadState,
    lease: UploadLease,
    chunk: Omit<SittingArgs, 'state' | 'lease' | 'maxBytes'>,
  ): Promise<Progress> {
    const { maxUploadBytes } = this.#deps;
    const deps = { ...this.#deps, states: this.#states };
    const sat = await new Sitting(deps, { ...chunk, state, lease, maxBytes: maxUploadBytes }).run();
    // it is part of what came
    if (state.rest !== null && sat.state.rest !== state.rest) this.#removeRest(state.rest);
    if (sat.stored !== null) return { file: await this.#store(sat.state, sat.stored.crc32) };
    if (isWhole(sat.state)) return this.#finish(sat.state, lease);
    if (sat.failure !== null) throw sat.failure;
    return { state: sat.state, file: null };
  }

  /** Makes the object of what is written, unless it was made before, and its row. */
  async #finish(state: UploadState, lease: UploadLease): Promise<Progress> {
    const { store } = this.#deps;
    const { file, written } = state;
    if (!(await lease.keep())) throw uploadConflict('Another request completes the upload');
    const signal = AbortSignal.timeout(finishTimeout);
    if ((await store.head(file.objectKey, signal)) === null) {
      const writer = await store.resume(file.objectKey, objectDescription(file), written, signal);
      await writer.complete({ chunks: [], size: 0, crc32: 0 });
    }
    return { file: await this.#store(state, written?.crc32 ?? 0) };
  }

  /** The object is there: its row, and nothing more of the upload. */
  async #store(state: UploadState, crc32: number): Promise<CloudFile> {
    const signal = finishDeadline();
    const { ownerId, projectSlug, name, objectKey } = state.file;
    await this.#deps.projects.ensure(ownerId, projectSlug, signal);
    const now = new Date();
    const size = state.length ?? 0;
    let file = await this.#deps.cloudFiles.findByName(name, signal);
    if (file === null) {
      file = { ...state.file, size, crc32, createdAt: now, updatedAt: now };
      let counted: CountedFile | undefined;
      try {
        counted = await this.#deps.quota?.claim(ownerId, size, signal);
      } catch (error) {
        // other files have come meanwhile
        await this.#deps.store.delete(objectKey, signal);
        await this.#removeState(state, signal);
        throw error;
      }
      await this.#insert(file, counted, signal);
    }
    // the file is there: what is left of its upload does no harm
    await this.#removeState(state, signal).catch((err: unknown) => {
      this.#deps.log.warn({ err, name }, 'the state of an upload is left to the janitor');
    });
    return file;
  }

  async #insert(file: CloudFile, counted: CountedFile | undefined, signal: AbortSignal): Promise<void> {
    const { cloudFiles, usage } = this.#deps;
    const rowIsOver = cloudFiles.announce();
    let stored = false;
    try {
      await cloudFiles.insert(file, signal);
      stored = true;
      usage?.add(file.ownerId, file.projectSlug, { files: 1, bytesStored: file.size });
    } finally {
      rowIsOver();
      counted?.(stored);
    }
  }

  async #removeState({ rest, file }: UploadState, signal: AbortSignal): Promise<void> {
    await this.#states.remove(this.#addressOf(file), signal);
    if (rest !== null) this.#removeRest(rest);
  }

  /** The state goes last, so that whoever finds it finds what there is. */
  async #dropAll(state: UploadState, signal: AbortSignal): Promise<void> {
    const { file, written, rest } = state;
    await this.#deps.store.dropWritten(file.objectKey, written, signal);
    if (rest !== null) await this.#states.removeRest(rest, signal);
    await this.#states.remove(this.#addressOf(file), signal);
  }

  /** No answer waits for it. */
  #removeRest(rest: Remainder): void {
    const removed = this.#states
      .removeRest(rest, AbortSignal.timeout(finishTimeout))
      .catch((err: unknown) =>
        this.#deps.log.warn({ err, key: rest.key }, 'bytes of an upload are left to the janitor'),
      )
      .finally(() => this.#work.delete(removed));
    this.#work.add(removed);
  }

  #addressOf(whose: Whose): UploadAddress {
    if (!isStoredName(whose.name)) throw noUpload();
    return this.#states.addressOf(whose);
  }
}

function withLength(state: UploadState, length: number | undefined): UploadState {
  if (length === undefined || length === state.length) return state;
  if (state.length !== null)
    throw uploadConflict(`The length of the upload is ${state.length}, and not ${length}`);
  if (length < offsetOf(state)) throw uploadConflict(`The upload has ${offsetOf(state)} bytes already`);
  return { ...state, length };
}

const noUpload = () => notFound('There is no such upload');
