import type { FileSenders } from '#auth/file-senders.ts';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import {
  notFound,
  payloadTooLarge,
  tooManyUploads,
  uploadConflict,
  uploadExpired,
} from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { SignedPut, UploadedPart } from '#objects/direct-store.ts';
import { assertMayUpload, mayAskFor } from '../access/bound-files.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { findUploadedFile } from '../catalogue/own-file.ts';
import type { FileDraft } from '../files/file-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import type { UploadLinks } from '../links/upload-links.ts';
import {
  addressLifetime,
  type DirectPlan,
  isPlanned,
  type PlanAddress,
  type PlannedPart,
  partCount,
  plannedAtOf,
  plannedParts,
  uploadOf,
} from '../plans/direct-plan.ts';
import type { SharedLeases } from '../resumable/upload-leases.ts';
import { type CompleteDeps, DirectCompletion } from './direct-completion.ts';
import { partBytesFor, partDigests } from './plan-parts.ts';
import type { PlanRequest, SentPart } from './plan-request.ts';
import { UploadTurns } from './upload-turns.ts';

export interface DirectUploadsDeps extends CompleteDeps {
  readonly boundAs: FileSenders['boundAs'];
  readonly uploadLinks: Pick<UploadLinks, 'giveBack'>;
  readonly deploymentId: string;
  readonly maxDirectBytes: number;
  /** Most plans of an account that have not ended. */
  readonly maxOpenUploads: number;
  /** Milliseconds after which a plan expires. */
  readonly expireAfter: number;
  /** Keeps completions and removals of an upload apart. */
  readonly leases: SharedLeases;
  readonly log: Log;
}

export interface PlanReference extends Omit<PlanAddress, 'deploymentId'> {}

/** Who plans an upload, beside its account. */
export type PlanSender = Pick<DirectPlan, 'bound' | 'link' | 'verifiedType'>;

/** A plan that has not ended, or the file that it became. */
export type Planned =
  | { readonly plan: DirectPlan; readonly file: null }
  | { readonly plan: null; readonly file: CloudFile };

/** A part with the request by which a client sends it. */
export type AddressedPart = PlannedPart & SignedPut;

/** Time limit of a removal that no client waits for. Milliseconds. */
const removalTimeout = 60_000;

/**
 * Uploads whose bytes clients send to the object store by themselves: the gateway plans them, and makes files of what the
 * store then has (docs/decisions/079-direct-uploads.md).
 */
export class DirectUploads {
  readonly #deps: DirectUploadsDeps;
  readonly #turns: UploadTurns;
  readonly #open: AccountQuota;
  readonly #completion: DirectCompletion;
  /** No answer waits for it, but a stop does. */
  readonly #work = new Set<Promise<unknown>>();

  constructor(deps: DirectUploadsDeps) {
    const { plans } = deps;
    this.#deps = deps;
    this.#turns = new UploadTurns(deps.leases);
    this.#completion = new DirectCompletion(deps);
    this.#open = new AccountQuota({
      limits: { objects: deps.maxOpenUploads },
      ask: async (account, signal) => ({ objects: (await plans.plansOf(account, signal)).length }),
      full: tooManyUploads,
    });
  }

  get maxDirectBytes(): number {
    return this.#deps.maxDirectBytes;
  }

  get deploymentId(): string {
    return this.#deps.deploymentId;
  }

  get smallestPart(): number {
    return this.#deps.direct.smallestPart;
  }

  /** When a plan expires. */
  expiryOf({ plannedAt }: DirectPlan): Date {
    return new Date(plannedAt + this.#deps.expireAfter);
  }

  /** Plans an upload. Throws 400 for digests of another number of parts, 403 and 413. */
  async plan(
    file: FileDraft,
    request: PlanRequest,
    sender: PlanSender,
    signal: AbortSignal,
  ): Promise<DirectPlan> {
    const { direct, plans, quota, maxDirectBytes } = this.#deps;
    const { size, sha256, crc32c, crc64nvme } = request;
    if (size > maxDirectBytes) throw payloadTooLarge(maxDirectBytes, 'File');
    const partBytes = partBytesFor(direct, request);
    const count = partCount({ size, partBytes });
    const digests = partDigests(request, { count, partBytes });
    const { refusesOverwrite, checksChecksums } = await direct.abilities(signal);
    const checksums = checksChecksums && digests.partCrc32c !== undefined && size > 0;
    await this.#open.add(file.ownerId, signal);
    let uploadId: string | null = null;
    try {
      const counted = await quota.claimBytes(file.ownerId, size, signal);
      try {
        if (count > 1 || (count === 1 && !refusesOverwrite))
          uploadId = await direct.begin(file.objectKey, objectDescription(file), { checksums }, signal);
        const plan: DirectPlan = {
          file,
          size,
          partBytes,
          uploadId,
          checksums,
          plannedAt: plannedAtOf(file.name),
          ...digests,
          ...(sha256 && { sha256 }),
          ...(crc32c && { crc32c }),
          ...(crc64nvme && { crc64nvme }),
          ...sender,
        };
        await plans.save(plan, signal);
        counted(size, true);
        return plan;
      } catch (error) {
        counted(0, true);
        throw error;
      }
    } catch (error) {
      this.#open.freed(file.ownerId, 1);
      if (uploadId !== null) this.#abandon({ key: file.objectKey, uploadId, file });
      throw error;
    }
  }

  /** Throws 404, and 410 when it has expired. */
  async find(upload: PlanReference, signal: AbortSignal): Promise<Planned> {
    const plan = await this.#load(upload, signal);
    // a plan stays for a moment after its file was made, and its bytes count twice if the gateway was killed then
    const file = await findUploadedFile(this.#deps.cloudFiles, upload, signal);
    if (file !== null) {
      if (plan !== null) this.#deps.plans.end(plan, this.#deps.keepsParts);
      return { plan: null, file };
    }
    if (plan === null) throw noUpload();
    this.#assertOpen(plan);
    return { plan, file: null };
  }

  /** Addresses of some parts, from one number to another. */
  addresses(plan: DirectPlan, first: number, last: number): Promise<AddressedPart[]> {
    const { direct } = this.#deps;
    const upload = uploadOf(plan);
    return Promise.all(
      plannedParts(plan, first, last).map(async (part) => {
        const { url, headers } = await direct.putAddress(upload, part, addressLifetime);
        return { url, headers, ...part };
      }),
    );
  }

  /** The parts that have arrived. */
  async uploaded(plan: DirectPlan, signal: AbortSignal): Promise<readonly UploadedPart[]> {
    const { direct } = this.#deps;
    if (plan.uploadId !== null) return (await direct.listParts(uploadOf(plan), signal)) ?? [];
    const object = plan.size === 0 ? null : await direct.inspect(plan.file.objectKey, signal);
    return object === null ? [] : [{ number: 1, size: object.size, etag: object.etag }];
  }

  /**
   * Makes a file of what the store has. Throws 409 when parts are missing or differ, and 400 when a digest does not match.
   * @param sent parts as the client knows them; null: the list of the store decides
   * @param verify the object is read once
   */
  complete(
    upload: PlanReference,
    { sent, verify }: { readonly sent: readonly SentPart[] | null; readonly verify: boolean },
    signal: AbortSignal,
  ): Promise<CloudFile> {
    return this.#exclusive(upload, async () => {
      const { plan, file } = await this.find(upload, signal);
      if (file !== null) return file;
      await this.#assertAllowed(plan, signal);
      const made = await this.#completion.complete(plan, { sent, verify });
      this.#ended(plan);
      return made;
    });
  }

  /** Drops an upload. Throws 409 when it is a file already. */
  drop(upload: PlanReference, signal: AbortSignal): Promise<void> {
    return this.#exclusive(upload, async () => {
      const { plan, file } = await this.find(upload, signal);
      if (file !== null) throw uploadConflict('The upload is complete: it is a file now');
      const { direct, plans, uploadLinks, log } = this.#deps;
      const until = AbortSignal.timeout(removalTimeout);
      if (plan.uploadId !== null) await direct.abort(uploadOf(plan), until);
      await plans.close(plans.addressOf(plan.file), until);
      this.#ended(plan);
      if (plan.link !== undefined)
        await uploadLinks.giveBack(plan.link).catch((err: unknown) => {
          log.warn({ err, link: plan.link?.id }, 'a dropped upload still counts as a use of its link');
        });
    });
  }

  /** Throws 403 if rules let nobody upload, and 404 unless the sender planned the upload, or may read its file. */
  async assertMayContinue(upload: PlanReference, bound: BoundSender, signal: AbortSignal): Promise<void> {
    requiredFor(bound, 'upload');
    const plan = await this.#load(upload, signal);
    if (plan?.bound === true && (plan.file.owner ?? null) === bound.user) return;
    const file = await findUploadedFile(this.#deps.cloudFiles, upload, signal);
    if (file === null || !mayAskFor(bound, file)) throw noUpload();
  }

  /** The plan of a part that comes by an address of this gateway. Throws 404 when it has ended. */
  async planOfPart(upload: PlanReference, signal: AbortSignal): Promise<DirectPlan> {
    const plan = await this.#load(upload, signal);
    if (plan === null) throw noUpload();
    this.#assertOpen(plan);
    return plan;
  }

  /** Waits for requests of disconnected clients, for at most this many milliseconds. */
  async close(milliseconds: number): Promise<void> {
    await settledWithin(Promise.allSettled(this.#work), milliseconds);
    await settledWithin(this.#deps.plans.settle(), milliseconds);
  }

  #assertOpen(plan: DirectPlan): void {
    if (this.expiryOf(plan).getTime() < Date.now()) throw uploadExpired();
  }

  async #assertAllowed({ bound, file, size }: DirectPlan, signal: AbortSignal): Promise<void> {
    if (bound === undefined) return;
    const { ownerId, projectSlug, owner = null } = file;
    assertMayUpload(await this.#deps.boundAs(ownerId, projectSlug, owner, signal), file, size);
  }

  #ended({ file }: DirectPlan): void {
    this.#open.freed(file.ownerId, 1);
    // its bytes now belong to a file, or are removed: an earlier count may have them twice
    this.#deps.quota.freed(file.ownerId);
  }

  /** Drops an upload that has no plan, in the background. */
  #abandon({ key, uploadId, file }: { key: string; uploadId: string; file: FileDraft }): void {
    const { direct, log } = this.#deps;
    const upload = { key, uploadId, description: objectDescription(file), checksums: false };
    void this.#track(
      direct.abort(upload, AbortSignal.timeout(removalTimeout)).catch((err: unknown) => {
        log.warn({ err, key }, 'a multipart upload without a plan is left to the janitor');
      }),
    );
  }

  #load(upload: PlanReference, signal: AbortSignal): Promise<DirectPlan | null> {
    if (!isStoredName(upload.name) || !isPlanned(upload.name)) throw noUpload();
    const { plans } = this.#deps;
    return plans.load(plans.addressOf(upload), signal);
  }

  #exclusive<Result>({ name }: PlanReference, work: () => Promise<Result>): Promise<Result> {
    return this.#track(this.#turns.run(name, work));
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
    return tracked;
  }
}

const noUpload = () => notFound('There is no such upload');
