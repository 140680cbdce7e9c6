import type { Projects } from '#catalogue/projects.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import {
  checksumMismatch,
  notFound,
  unavailable,
  uploadExpired,
  uploadIncomplete,
} from '#kernel/errors/catalogue.ts';
import { createSharedDeadline } from '#kernel/limits/deadline.ts';
import type { DirectUploadStore, InspectedObject, UploadedPart } from '#objects/direct-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { CloudFile, HiddenState, Verified } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import { type FileDraft, fileOfDraft } from '../files/file-draft.ts';
import { InspectedDraft, type InspectedFile } from '../files/inspected-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import { inspectObject } from '../inspect/inspect-object.ts';
import type { MediaSizes } from '../inspect/sizes.ts';
import { type DirectPlan, uploadOf } from '../plans/direct-plan.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import { partProblems } from './part-problems.ts';
import type { SentPart } from './plan-request.ts';
import { ReadDigests } from './read-digests.ts';
import { type Found, proofOf, wrongAtStore } from './store-checksums.ts';

export interface CompleteDeps {
  readonly store: Pick<ObjectStore, 'create' | 'read' | 'delete'>;
  readonly direct: DirectUploadStore;
  /** Parts are objects of their own, which are left when the file is made. */
  readonly keepsParts: boolean;
  readonly plans: PlanStore;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'insert' | 'findAny'>;
  readonly projects: Pick<Projects, 'ensure'>;
  /** Of a file that nobody has scanned. */
  readonly newState?: HiddenState | undefined;
  readonly quota: Quota;
  readonly usage: Pick<UsageCounts, 'add'>;
  readonly digests: Pick<Digests, 'of'>;
}

/** Time limit of the object store, and of the row. Milliseconds. */
const storeTimeout = 180_000;
const commitDeadline = createSharedDeadline(30_000);
const storeDeadline = createSharedDeadline(storeTimeout);
/** The slowest expected read from the object store. Bytes per millisecond. */
const slowestRead = 1000;

/** Makes files of planned objects. The caller is the only one who ends the plan. */
export class DirectCompletion {
  readonly #deps: CompleteDeps;

  constructor(deps: CompleteDeps) {
    this.#deps = deps;
  }

  /** The request may be over: what is begun in the store is finished. */
  async complete(
    plan: DirectPlan,
    { sent, verify }: { readonly sent: readonly SentPart[] | null; readonly verify: boolean },
  ): Promise<CloudFile> {
    const signal = storeDeadline();
    const found =
      plan.uploadId === null
        ? { object: await this.#wholeObject(plan, sent, signal), parts: null }
        : await this.#joined(plan, sent, signal);
    const { verified, sha256 } = await this.#verify(plan, found, verify);
    const made = verified === 'bytes' ? await this.#outlasted(plan) : null;
    if (made !== null) return made;
    const { file, sizes } = await this.#inspect(plan, storeDeadline());
    return this.#store(plan, file, { verified, sha256, ...sizes });
  }

  /** After a long read: the file that another completion made meanwhile. Throws 410 if the janitor has ended the plan. */
  async #outlasted({ file }: DirectPlan): Promise<CloudFile | null> {
    const { plans, cloudFiles } = this.#deps;
    const signal = commitDeadline();
    if (await plans.has(file.objectKey, signal)) return null;
    const made = await cloudFiles.findAny(file.name, signal);
    if (made === null) throw uploadExpired();
    return made;
  }

  /** An object that was sent at once. */
  async #wholeObject(
    plan: DirectPlan,
    sent: readonly SentPart[] | null,
    signal: AbortSignal,
  ): Promise<InspectedObject> {
    const { direct, store } = this.#deps;
    const { objectKey: key } = plan.file;
    if (plan.size === 0) {
      const writer = await store.create(key, objectDescription(plan.file), signal);
      await writer.complete({ chunks: [], size: 0, crc32: 0 });
      return { size: 0, etag: '' };
    }
    const object = await direct.inspect(key, signal);
    const { etagIsMd5 } = await direct.abilities(signal);
    const listed = object === null ? [] : [{ number: 1, size: object.size, etag: object.etag }];
    const problems = partProblems(plan, { listed, sent, etagIsMd5 });
    if (object !== null && problems.length === 0) return object;
    // nothing can be sent to the address again while there is an object, which is not acknowledged
    if (object !== null && object.size !== plan.size) await store.delete(key, signal);
    throw uploadIncomplete(problems);
  }

  /** The object of a multipart upload, which is completed unless it was. */
  async #joined(plan: DirectPlan, sent: readonly SentPart[] | null, signal: AbortSignal): Promise<Found> {
    const { direct, plans } = this.#deps;
    const upload = uploadOf(plan);
    const parts = await direct.listParts(upload, signal);
    const { etagIsMd5 } = await direct.abilities(signal);
    const problems = parts === null ? [] : partProblems(plan, { listed: parts, sent, etagIsMd5 });
    let joined = false;
    if (parts !== null && problems.length === 0) joined = await this.#join(plan, parts, signal);
    // an earlier completion may have been cut off before the row was stored; SeaweedFS then lists no parts
    const object = await direct.inspect(plan.file.objectKey, signal);
    if (object?.size === plan.size) return { object, parts: joined ? parts : null };
    if (problems.length > 0) throw uploadIncomplete(problems);
    // the store has acknowledged the object, and may show it later
    if (joined && object === null) throw unavailable('The object store does not have the file yet');
    await plans.close(plans.addressOf(plan.file), signal);
    throw notFound('The object store no longer has the upload: begin it again');
  }

  /** Throws 409 if parts were sent again after they were listed. */
  async #join(plan: DirectPlan, parts: readonly UploadedPart[], signal: AbortSignal): Promise<boolean> {
    const { direct } = this.#deps;
    const upload = uploadOf(plan);
    const sums = plan.checksums ? plan.partCrc32c : undefined;
    const listed = parts.map((part) => ({ ...part, crc32c: sums?.[part.number - 1] }));
    try {
      return await direct.complete(upload, listed, signal);
    } catch (error) {
      const now = await direct.listParts(upload, signal).catch(() => null);
      const problems = now === null ? [] : partProblems(plan, { listed: now, sent: parts, etagIsMd5: false });
      throw problems.length === 0 ? error : uploadIncomplete(problems);
    }
  }

  /** How well the object is known to be what the client has. Removes it and throws 400 if it is something else. */
  async #verify(
    plan: DirectPlan,
    found: Found,
    verify: boolean,
  ): Promise<{ verified: Verified; sha256: string | undefined }> {
    const { store, digests, direct } = this.#deps;
    const { objectKey: key } = plan.file;
    const read = new ReadDigests(plan, verify);
    const limit = storeTimeout + Math.ceil(plan.size / slowestRead);
    const bytes = read.of(() => store.read(key, null, AbortSignal.timeout(limit)));
    const digest = await digests.of(bytes);
    if (digest === undefined && verify) for await (const _ of bytes);
    const sha256 = digest ?? read.sha256;
    const wrong = [...new Set([...wrongAtStore(plan, found.object), ...read.wrong(sha256)])];
    if (wrong.length > 0) {
      await this.#refuse(plan, storeDeadline());
      throw checksumMismatch(wrong);
    }
    if (read.hasRead) return { verified: 'bytes', sha256 };
    const abilities = await direct.abilities(storeDeadline());
    return { verified: proofOf(plan, found, abilities), sha256 };
  }

  /** The file with the type of its bytes. Removes them and throws 403 when the link takes no files of their type. */
  async #inspect(
    { file, size, verifiedType, ...plan }: DirectPlan,
    signal: AbortSignal,
  ): Promise<InspectedFile> {
    const inspection = new InspectedDraft(file, verifiedType);
    const bytes = await inspectObject(
      this.#deps.store,
      { key: file.objectKey, size },
      inspection.asks,
      signal,
    );
    try {
      return inspection.of(bytes);
    } catch (error) {
      await this.#refuse({ file, size, ...plan }, storeDeadline());
      throw error;
    }
  }

  /** Ends a plan whose object is something else, but for what was sent at once, which can be sent again. */
  async #refuse(plan: DirectPlan, signal: AbortSignal): Promise<void> {
    const { store, plans, cloudFiles } = this.#deps;
    const { name, objectKey } = plan.file;
    // without leases, another completion may have made a file of it: then only the janitor knows what has no row
    if (plan.uploadId !== null) await plans.close(plans.addressOf(plan.file), signal);
    else if ((await cloudFiles.findAny(name, signal)) === null) await store.delete(objectKey, signal);
  }

  /** Inserts the row. If that fails, the plan stays, and the completion can be asked for again. */
  async #store(
    plan: DirectPlan,
    draft: FileDraft,
    bytes: Pick<CloudFile, 'verified' | 'sha256'> & MediaSizes,
  ): Promise<CloudFile> {
    const { cloudFiles, projects, quota, usage, plans, keepsParts, newState: state } = this.#deps;
    const { ownerId, projectSlug } = plan.file;
    const signal = commitDeadline();
    await projects.ensure(ownerId, projectSlug, signal);
    // its bytes have been counted since the plan
    const counted = await quota.claim(ownerId, 0, signal);
    const rowIsOver = cloudFiles.announce();
    let stored = false;
    try {
      const now = new Date();
      const { size } = plan;
      // no CRC-32 is known of bytes that did not pass
      const file = fileOfDraft(draft, { size, crc32: 0, ...bytes, state }, now);
      await cloudFiles.insert(file, signal);
      stored = true;
      usage.add(ownerId, projectSlug, { files: 1, bytesStored: size });
      plans.end(plan, keepsParts);
      return file;
    } finally {
      rowIsOver();
      counted(stored);
    }
  }
}
