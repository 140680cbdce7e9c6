import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import {
  finalUpload,
  notFound,
  payloadTooLarge,
  tooManyUploads,
  uploadConflict,
  uploadExpired,
} from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import { readFileKey } from '#objects/file-key.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { mayAskFor } from '../access/bound-files.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { findUploadedFile } from '../catalogue/own-file.ts';
import type { FileDraft } from '../files/file-draft.ts';
import { bodyOfParts } from './body-of-parts.ts';
import type { Chunk } from './chunk-receiver.ts';
import { type ReceiveChunkDeps, receiveChunk } from './receive-chunk.ts';
import { finishTimeout, type Progress, UploadEnds } from './upload-ends.ts';
import { type SharedLeases, type UploadLease, UploadLeases } from './upload-leases.ts';
import {
  isFinal,
  isWhole,
  isWholePart,
  offsetOf,
  partKey,
  readUploadKey,
  stateAt,
  type UploadAddress,
  type UploadProperties,
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
export type UploadReference = Omit<UploadAddress, 'deploymentId'>;

/** Uploads that can be resumed after any interruption, at any gateway (docs/decisions/045-resumable-uploads.md). */
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
  async create(
    draft: FileDraft,
    properties: UploadProperties,
    signal: AbortSignal,
    chunk: Chunk | null,
  ): Promise<Progress> {
    const { quota } = this.#deps;
    await quota?.check(draft.ownerId, properties.length ?? chunk?.body.contentLength ?? 0, signal);
    await this.#open.add(draft.ownerId, signal);
    const state = await this.#begin(draft, properties, signal);
    if (properties.length !== 0 && chunk === null) return { state, file: null };
    return this.#exclusive(draft, async (lease) => {
      try {
        return await (chunk === null ? this.#ends.finish(state, lease) : this.#receive(state, lease, chunk));
      } catch (error) {
        // the client never got the address, so nobody can continue it
        const until = AbortSignal.timeout(finishTimeout);
        const rest = await this.#deps.states.load(this.#addressOf(draft), until).catch(() => null);
        if (rest !== null && !isWhole(rest)) await this.#ends.drop(rest, until).catch(() => {});
        throw error;
      }
    });
  }

  /**
   * Joins partial uploads to a file, in this order, and drops them. A repeated call continues the join.
   * @param names of the uploads
   */
  async concatenate(
    draft: FileDraft,
    names: readonly string[],
    sent: Pick<UploadProperties, 'metadata' | 'reprDigest'>,
    signal: AbortSignal,
  ): Promise<Progress> {
    const file = await findUploadedFile(this.#deps.cloudFiles, draft, signal);
    if (file !== null) return { file };
    const parts: UploadState[] = [];
    for (const name of names) parts.push(await this.#part({ ...draft, name }, draft.name, signal));
    const length = parts.reduce((sum, part) => sum + offsetOf(part), 0);
    const { maxUploadBytes, states, log } = this.#deps;
    if (length > maxUploadBytes) throw payloadTooLarge(maxUploadBytes, 'The upload');
    for (const { into, file } of parts) if (into === undefined) await this.#join(file, draft.name, signal);
    const done = await this.#exclusive(draft, async (lease) => {
      const properties = { ...sent, length, concat: 'final', parts: names } as const;
      const state =
        (await this.#load(draft, signal)) ??
        (await lease.save((until) => this.#begin(draft, properties, until)));
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

  /** Throws 403 if rules let nobody upload, and 404 unless the sender began the upload, or may read its file. */
  async assertMayContinue(upload: UploadReference, bound: BoundSender, signal: AbortSignal): Promise<void> {
    requiredFor(bound, 'upload');
    const state = await this.#deps.states.load(this.#addressOf(upload), signal);
    if (state?.bound === true && (state.file.owner ?? null) === bound.user) return;
    const file = state === null ? await findUploadedFile(this.#deps.cloudFiles, upload, signal) : null;
    if (file === null || !mayAskFor(bound, file)) throw noUpload();
  }

  /** Receives more bytes. Throws 409 unless they begin at the offset of the upload. */
  async append(
    upload: UploadReference,
    {
      offset,
      length,
      reprDigest,
      ...chunk
    }: Chunk & {
      readonly offset: number;
      /** The length, if it was deferred; null: the request has none. */
      readonly length: number | null;
      /** undefined: an earlier digest remains valid. */
      readonly reprDigest: string | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<Progress> {
    if (isFinal(upload.name)) {
      await this.#find(upload, null, chunk.signal);
      // "The Server MUST respond with the 403 Forbidden status to PATCH requests against a final upload URL"
      throw finalUpload();
    }
    return this.#exclusive(upload, async (lease) => {
      const known = stateAt(lease.stateBefore, upload, offset);
      const progress = await this.#find(upload, lease, chunk.signal, known);
      const complete = 'The upload is complete';
      if (progress.file !== null) throw uploadConflict(complete, progress.file.size);
      if (isWholePart(progress.state)) throw uploadConflict(complete, offsetOf(progress.state));
      const at = offsetOf(progress.state);
      if (offset !== at) throw uploadConflict(`The upload has ${at} bytes, not ${offset}`, at);
      const state = withLength(progress.state, length);
      return this.#receive(reprDigest === undefined ? state : { ...state, reprDigest }, lease, chunk);
    });
  }

  /** Progress of an upload. Ends a request that writes to it, so that the offset stays valid; never ends a join. */
  find(upload: UploadReference, signal: AbortSignal): Promise<Progress> {
    if (isFinal(upload.name)) return this.#find(upload, null, signal);
    return this.#exclusive(upload, (lease) => this.#find(upload, lease, signal));
  }

  /** The file of a complete upload. Throws 404 while it is incomplete. */
  async fileOf(upload: UploadReference, signal: AbortSignal): Promise<CloudFile> {
    const file = await findUploadedFile(this.#deps.cloudFiles, upload, signal);
    if (file !== null) return file;
    const state = await this.#load(upload, signal);
    if (state === null) throw noUpload();
    const total = state.length ?? 'an unknown number of';
    throw notFound(`The upload has ${offsetOf(state)} of ${total} bytes: it is not a file yet`);
  }

  /** Drops an incomplete upload. */
  drop(upload: UploadReference, signal: AbortSignal): Promise<void> {
    return this.#exclusive(upload, async () => {
      const state = await this.#deps.states.load(this.#addressOf(upload), signal);
      if (state === null && (await findUploadedFile(this.#deps.cloudFiles, upload, signal)) !== null)
        throw uploadConflict('The upload is complete: it is a file now');
      if (state === null) throw noUpload();
      await this.#ends.drop(state, AbortSignal.timeout(finishTimeout));
    });
  }

  /** Drops an upload that has expired. False: it has not expired, or no longer exists. */
  expire(upload: UploadReference, signal: AbortSignal): Promise<boolean> {
    return this.#exclusive(upload, async () => {
      const state = await this.#deps.states.load(this.#addressOf(upload), signal);
      if (state === null || this.expiryOf(state).getTime() > Date.now()) return false;
      await this.#ends.drop(state, signal);
      return true;
    });
  }

  /** Whether no upload uses the remainder any more. */
  async isOrphaned(upload: UploadReference, key: string, signal: AbortSignal): Promise<boolean> {
    const state = await this.#deps.states.load(this.#addressOf(upload), signal);
    return state === null || (state.rest?.key !== key && state.file.objectKey !== key);
  }

  /** Whether an upload under way will become this object. */
  async isOpen(objectKey: string, signal: AbortSignal): Promise<boolean> {
    const address = readFileKey(objectKey) ?? readUploadKey(objectKey);
    return address !== null && this.#deps.states.has(address, signal);
  }

  /** Whether rules, or its bytes, refuse an object without a row, which is then removed. */
  async isRefused(objectKey: string, signal: AbortSignal): Promise<boolean> {
    const address = readFileKey(objectKey);
    if (address === null) return false;
    const state = await this.#deps.states.load(address, signal);
    if (state === null || (state.bound === undefined && state.verifiedType === undefined)) return false;
    return this.#exclusive(state.file, () => this.#ends.removeRefused(state, signal));
  }

  /** Waits for requests of disconnected clients, for at most this many milliseconds. */
  async close(milliseconds: number): Promise<void> {
    await settledWithin(Promise.allSettled(this.#work), milliseconds);
  }

  async #begin(draft: FileDraft, properties: UploadProperties, signal: AbortSignal): Promise<UploadState> {
    const { states, store, maxUploadBytes } = this.#deps;
    const isPart = properties.concat === 'partial';
    const file = isPart ? { ...draft, objectKey: partKey(states.addressOf(draft)) } : draft;
    const partBytes = store.partBytes(0, properties.length ?? maxUploadBytes);
    const state = { ...properties, file, partBytes, written: null, rest: null, savedAt: Date.now() };
    await states.save(state, signal);
    return state;
  }

  /** A complete partial upload that is not joined to another file. Throws 404 or 409. */
  async #part(upload: UploadReference, into: string, signal: AbortSignal): Promise<UploadState> {
    const part = await this.#load(upload, signal);
    if (part === null) throw noUpload();
    if (!isWholePart(part)) throw uploadConflict(`${upload.name} is not a complete partial upload`);
    if ((part.into ?? into) !== into) throw uploadConflict(`${upload.name} belongs to another file`);
    return part;
  }

  #join(upload: UploadReference, into: string, signal: AbortSignal): Promise<void> {
    return this.#exclusive(upload, async (lease) => {
      const part = await this.#part(upload, into, signal);
      await lease.save((until) => this.#deps.states.save({ ...part, into, savedAt: Date.now() }, until));
    });
  }

  async #exclusive<Result>(
    { name }: UploadReference,
    work: (lease: UploadLease) => Promise<Result>,
  ): Promise<Result> {
    const lease = await this.#leases.take(name);
    const done = work(lease).finally(() => {
      this.#work.delete(done);
      lease.release();
    });
    this.#work.add(done);
    return done;
  }

  /** @param lease null: only reads; otherwise completes an upload that has all its bytes */
  async #find(
    upload: UploadReference,
    lease: UploadLease | null,
    signal: AbortSignal,
    known?: UploadState,
  ): Promise<Progress> {
    const state = await this.#load(upload, signal, known);
    if (state !== null)
      return lease !== null && isWhole(state) ? this.#ends.finish(state, lease) : { state, file: null };
    const file = await findUploadedFile(this.#deps.cloudFiles, upload, signal);
    if (file === null) throw noUpload();
    return { file };
  }

  /** Null: no such upload. Throws 410 when it has expired. */
  async #load(
    upload: UploadReference,
    signal: AbortSignal,
    known?: UploadState,
  ): Promise<UploadState | null> {
    const state = known ?? (await this.#deps.states.load(this.#addressOf(upload), signal));
    if (state !== null && this.expiryOf(state).getTime() < Date.now()) throw uploadExpired();
    return state;
  }

  #receive(state: UploadState, lease: UploadLease, chunk: Chunk): Promise<Progress> {
    return receiveChunk(this.#deps, { ends: this.#ends, state, lease, chunk });
  }

  #addressOf(upload: UploadReference): UploadAddress {
    if (!isStoredName(upload.name)) throw noUpload();
    return this.#deps.states.addressOf(upload);
  }
}

const noUpload = () => notFound('There is no such upload');
