import { isStoredName, readFileKey } from '#catalogue/file-key.ts';
import {
  finalUpload,
  notFound,
  payloadTooLarge,
  tooManyUploads,
  uploadConflict,
  uploadExpired,
} from '#kernel/errors/catalogue.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { FileDraft } from '../files/file-draft.ts';
import { bodyOfParts } from './body-of-parts.ts';
import type { Chunk } from './chunk-receiver.ts';
import { type ReceiveChunkDeps, receiveChunk } from './receive-chunk.ts';
import { finishTimeout, type Progress, UploadEnds } from './upload-ends.ts';
import { type SharedLeases, type UploadLease, UploadLeases } from './upload-leases.ts';
import {
  type About,
  goesOnAt,
  isFinal,
  isWhole,
  isWholePart,
  offsetOf,
  partKey,
  readUploadKey,
  type UploadAddress,
  type UploadState,
  withLength,
} from './upload-state.ts';

export interface ResumableUploadsDeps extends ReceiveChunkDeps {
  readonly deploymentId: string;
  readonly store: ReceiveChunkDeps['store'] & Pick<ObjectStore, 'partBytes'>;
  /** Most incomplete uploads of an account. */
  readonly maxOpenUploads: number;
  /** Milliseconds without new bytes after which an upload expires. */
  readonly expireAfter: number;
  readonly leases: SharedLeases;
}

/** Owner, project and name of an upload. */
export type Whose = Omit<UploadAddress, 'deploymentId'>;

/** Uploads that continue after any interruption, at any gateway (docs/decisions/045-resumable-uploads.md). */
export class ResumableUploads {
  readonly #deps: ResumableUploadsDeps;
  readonly #leases: UploadLeases;
  readonly #ends: UploadEnds;
  readonly #open: AccountQuota;
  readonly #work = new Set<Promise<unknown>>();

  constructor(deps: ResumableUploadsDeps) {
    const { states } = deps;
    this.#deps = deps;
    this.#leases = new UploadLeases(deps.leases);
    this.#open = new AccountQuota({
      limits: { objects: deps.maxOpenUploads },
      ask: async (account, signal) => ({ objects: (await states.uploadsOf(account, signal)).length }),
      full: tooManyUploads,
    });
    this.#ends = new UploadEnds(deps, { open: this.#open, work: this.#work });
  }

  get maxUploadBytes(): number {
    return this.#deps.maxUploadBytes;
  }

  get deploymentId(): string {
    return this.#deps.deploymentId;
  }

  /** The time when an upload expires unless more bytes come. */
  expiryOf({ savedAt }: UploadState): Date {
    return new Date(savedAt + this.#deps.expireAfter);
  }

  /** Begins an upload. @param chunk its first bytes, if there are any */
  async create(draft: FileDraft, about: About, signal: AbortSignal, chunk: Chunk | null): Promise<Progress> {
    const { quota } = this.#deps;
    await quota?.check(draft.ownerId, about.length ?? chunk?.body.contentLength ?? 0, signal);
    await this.#open.add(draft.ownerId, signal);
    const state = await this.#begin(draft, about, signal);
    if (about.length !== 0 && chunk === null) return { state, file: null };
    return this.#exclusive(draft, async (lease) => {
      try {
        return await (chunk === null ? this.#ends.finish(state, lease) : this.#receive(state, lease, chunk));
      } catch (error) {
        // no answer gave its address, so nobody can continue it
        const until = AbortSignal.timeout(finishTimeout);
        const left = await this.#deps.states.load(this.#addressOf(draft), until).catch(() => null);
        if (left !== null && !isWhole(left)) await this.#ends.drop(left, until).catch(() => {});
        throw error;
      }
    });
  }

  /**
   * Makes a file of the bytes of partial uploads, in this order, and drops these. A repeated call continues the file.
   * @param names of the uploads
   */
  async concatenate(
    draft: FileDraft,
    names: readonly string[],
    sent: Pick<About, 'metadata' | 'reprDigest'>,
    signal: AbortSignal,
  ): Promise<Progress> {
    const file = await this.#stored(draft, signal);
    if (file !== null) return { file };
    const parts: UploadState[] = [];
    for (const name of names) parts.push(await this.#part({ ...draft, name }, draft.name, signal));
    const length = parts.reduce((sum, part) => sum + offsetOf(part), 0);
    const { maxUploadBytes, states, log } = this.#deps;
    if (length > maxUploadBytes) throw payloadTooLarge(maxUploadBytes, 'The upload');
    for (const { into, file } of parts) if (into === undefined) await this.#join(file, draft.name, signal);
    const done = await this.#exclusive(draft, async (lease) => {
      const about = { ...sent, length, concat: 'final', parts: names } as const;
      const state =
        (await this.#load(draft, signal)) ?? (await lease.save((until) => this.#begin(draft, about, until)));
      if (isWhole(state)) return this.#ends.finish(state, lease);
      const body = bodyOfParts(parts, offsetOf(state), (part, start) => states.readRest(part, signal, start));
      return this.#receive(state, lease, { body, check: null }).finally(() => body.close());
    });
    const until = AbortSignal.timeout(finishTimeout);
    for (const dropped of await Promise.allSettled(parts.map((part) => this.#ends.drop(part, until))))
      if (dropped.status === 'rejected')
        log.warn({ err: dropped.reason }, 'a partial upload is left to the janitor');
    return done;
  }

  /** Takes more bytes. Throws 409 when they do not begin at the offset of the upload. */
  async append(
    whose: Whose,
    {
      offset,
      length,
      reprDigest,
      ...chunk
    }: Chunk & {
      readonly offset: number;
      /** Length of an upload that deferred it; null: it still does. */
      readonly length: number | null;
      /** undefined: the digest announced before holds. */
      readonly reprDigest: string | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<Progress> {
    if (isFinal(whose.name)) {
      await this.#find(whose, null, chunk.signal);
      // "The Server MUST respond with the 403 Forbidden status to PATCH requests against a final upload URL"
      throw finalUpload();
    }
    return this.#exclusive(whose, async (lease) => {
      const known = goesOnAt(lease.found, whose, offset);
      const progress = await this.#find(whose, lease, chunk.signal, known);
      const complete = 'The upload is complete';
      if (progress.file !== null) throw uploadConflict(complete, progress.file.size);
      if (isWholePart(progress.state)) throw uploadConflict(complete, offsetOf(progress.state));
      const at = offsetOf(progress.state);
      if (offset !== at) throw uploadConflict(`The upload has ${at} bytes, and not ${offset}`, at);
      const state = withLength(progress.state, length);
      return this.#receive(reprDigest === undefined ? state : { ...state, reprDigest }, lease, chunk);
    });
  }

  /** Progress of an upload. Ends a request that writes to it, so that it stays so, but no join of partial ones. */
  find(whose: Whose, signal: AbortSignal): Promise<Progress> {
    if (isFinal(whose.name)) return this.#find(whose, null, signal);
    return this.#exclusive(whose, (lease) => this.#find(whose, lease, signal));
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
    return this.#exclusive(whose, async () => {
      const state = await this.#deps.states.load(this.#addressOf(whose), signal);
      if (state === null && (await this.#stored(whose, signal)) !== null)
        throw uploadConflict('The upload is complete: it is a file now');
      if (state === null) throw noUpload();
      await this.#ends.drop(state, AbortSignal.timeout(finishTimeout));
    });
  }

  /** Drops an upload that has expired; false: it has not, or is gone. */
  expire(whose: Whose, signal: AbortSignal): Promise<boolean> {
    return this.#exclusive(whose, async () => {
      const state = await this.#deps.states.load(this.#addressOf(whose), signal);
      if (state === null || this.expiryOf(state).getTime() > Date.now()) return false;
      await this.#ends.drop(state, signal);
      return true;
    });
  }

  /** Whether a remainder belongs to no upload any more. */
  async isLeft(whose: Whose, key: string, signal: AbortSignal): Promise<boolean> {
    const state = await this.#deps.states.load(this.#addressOf(whose), signal);
    return state === null || (state.rest?.key !== key && state.file.objectKey !== key);
  }

  /** Whether an upload is on its way to become this object. */
  async isOpen(objectKey: string, signal: AbortSignal): Promise<boolean> {
    const address = readFileKey(objectKey) ?? readUploadKey(objectKey);
    return address !== null && this.#deps.states.has(address, signal);
  }

  /** Waits for requests whose clients are gone, for this many milliseconds at most. */
  async close(milliseconds: number): Promise<void> {
    await settledWithin(Promise.allSettled(this.#work), milliseconds);
  }

  async #begin(draft: FileDraft, about: About, signal: AbortSignal): Promise<UploadState> {
    const { states, store, maxUploadBytes } = this.#deps;
    const isPart = about.concat === 'partial';
    const file = isPart ? { ...draft, objectKey: partKey(states.addressOf(draft)) } : draft;
    const partBytes = store.partBytes(0, about.length ?? maxUploadBytes);
    const state = { ...about, file, partBytes, written: null, rest: null, savedAt: Date.now() };
    await states.save(state, signal);
    return state;
  }

  /** A partial upload that is complete, and joined to no other file. */
  async #part(whose: Whose, into: string, signal: AbortSignal): Promise<UploadState> {
    const part = await this.#load(whose, signal);
    if (part === null) throw noUpload();
    if (!isWholePart(part)) throw uploadConflict(`${whose.name} is no partial upload that is complete`);
    if ((part.into ?? into) !== into) throw uploadConflict(`${whose.name} belongs to another file`);
    return part;
  }

  #join(whose: Whose, into: string, signal: AbortSignal): Promise<void> {
    return this.#exclusive(whose, async (lease) => {
      const part = await this.#part(whose, into, signal);
      await lease.save((until) => this.#deps.states.save({ ...part, into, savedAt: Date.now() }, until));
    });
  }

  async #exclusive<Result>({ name }: Whose, work: (lease: UploadLease) => Promise<Result>): Promise<Result> {
    const lease = await this.#leases.take(name);
    const done = work(lease).finally(() => {
      this.#work.delete(done);
      lease.release();
    });
    this.#work.add(done);
    return done;
  }

  /** @param lease null: it only looks; else it completes an upload with all its bytes */
  async #find(
    whose: Whose,
    lease: UploadLease | null,
    signal: AbortSignal,
    known?: UploadState,
  ): Promise<Progress> {
    const state = await this.#load(whose, signal, known);
    if (state !== null)
      return lease !== null && isWhole(state) ? this.#ends.finish(state, lease) : { state, file: null };
    const file = await this.#stored(whose, signal);
    if (file === null) throw noUpload();
    return { file };
  }

  /** Null: there is none. Throws 410 when it has expired. */
  async #load(whose: Whose, signal: AbortSignal, known?: UploadState): Promise<UploadState | null> {
    const state = known ?? (await this.#deps.states.load(this.#addressOf(whose), signal));
    if (state !== null && this.expiryOf(state).getTime() < Date.now()) throw uploadExpired();
    return state;
  }

  async #stored({ ownerId, projectSlug, name }: Whose, signal: AbortSignal): Promise<CloudFile | null> {
    const file = await this.#deps.cloudFiles.findByName(name, signal);
    return file?.ownerId === ownerId && file.projectSlug === projectSlug ? file : null;
  }

  #receive(state: UploadState, lease: UploadLease, chunk: Chunk): Promise<Progress> {
    return receiveChunk(this.#deps, { ends: this.#ends, state, lease, chunk });
  }

  #addressOf(whose: Whose): UploadAddress {
    if (!isStoredName(whose.name)) throw noUpload();
    return this.#deps.states.addressOf(whose);
  }
}

const noUpload = () => notFound('There is no such upload');
