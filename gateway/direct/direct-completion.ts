import { createHash, type Hash } from 'node:crypto';
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
import { crc32c } from '#objects/crc32c.ts';
import type {
  DirectAbilities,
  DirectUploadStore,
  InspectedObject,
  UploadedPart,
} from '#objects/direct-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { plainEtag } from '#objects/plain-etag.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { CloudFile, HiddenState, Verified } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import { type FileDraft, fileOfDraft } from '../files/file-draft.ts';
import { InspectedDraft, type InspectedFile } from '../files/inspected-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import { inspectObject } from '../inspect/inspect-object.ts';
import type { MediaSizes } from '../inspect/sizes.ts';
import { type DirectPlan, partCount, plannedParts, uploadOf } from '../plans/direct-plan.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { SentPart } from './plan-request.ts';

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
/** Most problems in an answer. */
const mostProblems = 20;

/** What the store has of a planned file. */
interface Found {
  readonly object: InspectedObject;
  /** Null: the object was complete before, or is no multipart upload. */
  readonly parts: readonly UploadedPart[] | null;
}

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
    const problems = problemsOf(plan, { listed, sent, etagIsMd5 });
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
    const problems = parts === null ? [] : problemsOf(plan, { listed: parts, sent, etagIsMd5 });
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
      const problems = now === null ? [] : problemsOf(plan, { listed: now, sent: parts, etagIsMd5: false });
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

/** The digests of an object that is read, if it is. */
class ReadDigests {
  readonly #plan: DirectPlan;
  readonly #sha256: Hash | null;
  #crc32c = 0;
  #digest: string | undefined;
  hasRead = false;

  /** @param hashes its SHA-256 is computed */
  constructor(plan: DirectPlan, hashes: boolean) {
    this.#plan = plan;
    this.#sha256 = hashes ? createHash('sha256') : null;
  }

  /** Reads nothing before the first chunk is taken. */
  async *of(read: () => AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    this.hasRead = true;
    for await (const chunk of read()) {
      this.#sha256?.update(chunk);
      if (this.#plan.crc32c !== undefined) this.#crc32c = crc32c(chunk, this.#crc32c);
      yield chunk;
    }
  }

  get sha256(): string | undefined {
    if (this.hasRead) this.#digest ??= this.#sha256?.digest('hex');
    return this.#digest;
  }

  /** Names of the planned digests that do not match; none if nothing was read. */
  wrong(sha256: string | undefined): string[] {
    if (!this.hasRead) return [];
    const { sha256: planned, crc32c: sum } = this.#plan;
    return [
      ...(planned !== undefined && planned !== sha256 ? ['sha256'] : []),
      ...(sum !== undefined && Buffer.from(sum, 'base64').readUInt32BE() !== this.#crc32c ? ['crc32c'] : []),
    ];
  }
}

/** Checksums that stores have of whole objects. */
const storeSums = ['crc32c', 'crc64nvme'] as const;

/** Names of the planned digests that the store says otherwise. */
function wrongAtStore(plan: DirectPlan, object: InspectedObject): string[] {
  return storeSums.filter(
    (name) => plan[name] !== undefined && object[name] !== undefined && plan[name] !== object[name],
  );
}

/** What is proven of an object without reading it. */
function proofOf(plan: DirectPlan, { object, parts }: Found, { checksMd5 }: DirectAbilities): Verified {
  const { checksums, partMd5, uploadId } = plan;
  // a wrong one was refused before this
  const compared = storeSums.some((name) => plan[name] !== undefined && object[name] !== undefined);
  if (checksums || compared) return 'checksum';
  if (partMd5 === undefined || plan.size === 0) return 'size';
  const listed = uploadId === null ? [{ number: 1, ...object }] : (parts ?? []);
  const etags = new Map(listed.map(({ number, etag }) => [number, etag.toLowerCase()]));
  const match = partMd5.every((md5, at) => etags.get(at + 1) === hexOf(md5));
  return checksMd5 || match ? 'md5' : 'size';
}

/** How the parts of the store differ from the plan, and from what the client knows. */
function problemsOf(
  plan: DirectPlan,
  {
    listed,
    sent,
    etagIsMd5,
  }: {
    readonly listed: readonly UploadedPart[];
    readonly sent: readonly SentPart[] | null;
    readonly etagIsMd5: boolean;
  },
): string[] {
  const count = partCount(plan);
  const stored = new Map(listed.map((part) => [part.number, part]));
  const known = sent && new Map(sent.map((part) => [part.number, part]));
  const problems = [...stored.keys(), ...(known?.keys() ?? [])]
    .filter((number) => number > count || number < 1)
    .map((number) => `Part ${number} is not planned: the file has ${count}`);
  for (const { number, size, md5, crc32c: sum } of plannedParts(plan, 1, count)) {
    if (problems.length >= mostProblems) break;
    const part = stored.get(number);
    const said = known?.get(number);
    if (part === undefined) problems.push(`Part ${number} has not arrived`);
    else if (part.size !== size) problems.push(`Part ${number} has ${part.size} bytes, and not ${size}`);
    else if (known !== null && said === undefined) problems.push(`Part ${number} is not in the list`);
    else if (said !== undefined && plainEtag(said.etag) !== part.etag)
      problems.push(`Part ${number} was sent again: its etag is ${part.etag}`);
    else if (etagIsMd5 && md5 !== undefined && part.etag.toLowerCase() !== hexOf(md5))
      problems.push(`Part ${number} has other bytes than its MD5 says`);
    else if (sum !== undefined && said?.crc32c !== undefined && said.crc32c !== sum)
      problems.push(`Part ${number} has another crc32c than planned`);
  }
  return problems.slice(0, mostProblems);
}

function hexOf(md5: string): string {
  return Buffer.from(md5, 'base64').toString('hex');
}
