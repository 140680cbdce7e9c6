import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Projects } from '#catalogue/projects.ts';
import { LockRefused, type Locks } from '#coordination/redis/process-lock.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidImage, notFound, overloaded } from '#kernel/errors/catalogue.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { VariantFormat } from './accepted-format.ts';
import type { PictureMaker } from './picture-maker.ts';
import { SharedJobs } from './shared-jobs.ts';
import { presetHash, type StoredVariant, type VariantAddress, variantKey } from './variant-key.ts';

/** How long the objects of pictures are taken to be there, and how many. Milliseconds. */
const knownFor = 60_000;
const knownVariants = 10_000;
/** How long a failure is remembered, and how many. Milliseconds. */
const failedFor = 60_000;
const failures = 10_000;
/** Of a picture, with its wait and the reading of its file. Milliseconds, like the others. */
const jobDeadline = 55_000;
const lockTimes = { lease: 10_000, renewEvery: 3000 };
/** How often a picture is looked for that another gateway makes. */
const lookEvery = 250;

interface PicturesParts {
  readonly deploymentId: string;
  readonly store: Pick<ObjectStore, 'head'>;
  readonly projects: Pick<Projects, 'find'>;
  readonly maker: PictureMaker;
  /** Keep gateways from making the same picture at once. */
  readonly locks: Locks;
  /** IMAGE_PRESETS. */
  readonly presets: readonly ImagePreset[];
}

interface KnownVariant {
  readonly stored: StoredVariant;
  original: CloudFile;
  /** As a download sends it, with what the original says. */
  picture: CloudFile;
}

/** What of a request decides on its picture. */
export interface WantedPicture {
  /** Name of a preset. */
  readonly preset: string;
  readonly format: VariantFormat;
}

/**
 * Pictures of files in the sizes of presets. Each is made once, when it is first asked for, and kept as an object beside the
 * file (docs/decisions/086-pictures-by-preset.md). Readers are authorised elsewhere.
 */
export class Pictures {
  readonly #parts: PicturesParts;
  readonly #known = new LRUCache<string, KnownVariant>({ ...upTo(knownVariants), ttl: knownFor });
  /** By file and preset: a picture that failed in one format fails in all. */
  readonly #failed = new LRUCache<string, ApiError>({ ...upTo(failures), ttl: failedFor });
  readonly #jobs = new SharedJobs<StoredVariant>();

  constructor(parts: PicturesParts) {
    this.#parts = parts;
  }

  /**
   * The picture as a file of its own, with a name that no file has. Throws 404 when there is no such preset, 422 when no
   * picture can be made, 501 when the server lacks what it needs, and 503 when too many are to be made.
   */
  async of(
    file: CloudFile,
    { preset: name, format }: WantedPicture,
    signal: AbortSignal,
  ): Promise<CloudFile> {
    const preset = await this.#preset(file, name, signal);
    const { ownerId, projectSlug } = file;
    const hash = presetHash(preset);
    const id = `${file.id}-${hash}-${format}`;
    const known = this.#known.get(id);
    // a row in the cache is the same object until it changes
    if (known?.original === file) return known.picture;
    const { deploymentId } = this.#parts;
    const variant = { deploymentId, ownerId, projectSlug, name: file.name, hash, format };
    const stored = known?.stored ?? (await this.#find(file, preset, variant, signal));
    const picture = variantFile(file, { id, variant, stored });
    // its lifetime begins when it is found
    if (known === undefined) this.#known.set(id, { stored, original: file, picture });
    else Object.assign(known, { original: file, picture });
    return picture;
  }

  /** The project's own preset, or the server's. */
  async #preset(
    { ownerId, projectSlug }: CloudFile,
    name: string,
    signal: AbortSignal,
  ): Promise<ImagePreset> {
    const named = (one: ImagePreset): boolean => one.name === name;
    const project = await this.#parts.projects.find(ownerId, projectSlug, signal);
    const found = project?.imagePresets?.find(named) ?? this.#parts.presets.find(named);
    if (found === undefined) throw notFound('There is no such preset');
    return found;
  }

  async #find(
    file: CloudFile,
    preset: ImagePreset,
    variant: VariantAddress,
    signal: AbortSignal,
  ): Promise<StoredVariant> {
    assertPictured(file);
    const id = `${file.name}/${variant.hash}`;
    const failure = this.#failed.get(id);
    // the error of this request, with its own stack
    if (failure !== undefined) throw new ApiError(failure.code, failure.message, { cause: failure });
    const key = variantKey(variant);
    const stored = await this.#parts.store.head(key, signal);
    if (stored !== null) return stored;
    try {
      const work = (unwanted: AbortSignal) => this.#makeOnce(file, preset, variant, unwanted);
      return await this.#jobs.share(key, work, signal);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'invalid_image') this.#failed.set(id, error);
      throw error;
    }
  }

  /** Makes a picture unless another gateway does so at this moment. */
  #makeOnce(
    file: CloudFile,
    preset: ImagePreset,
    variant: VariantAddress,
    unwanted: AbortSignal,
  ): Promise<StoredVariant> {
    const { locks, maker, store } = this.#parts;
    const key = variantKey(variant);
    const late = (): Error => overloaded('the picture is not made in time');
    const work = async (signal: AbortSignal): Promise<StoredVariant> => {
      for (;;) {
        try {
          return await locks(`picture:${key}`, lockTimes).hold(
            async () => (await store.head(key, signal)) ?? maker.make(file, preset, variant, signal),
          );
        } catch (error) {
          if (!(error instanceof LockRefused)) throw error;
          // made twice, it is the same
          if (error.reason === 'unknown') return maker.make(file, preset, variant, signal);
          await sleep(lookEvery, undefined, { signal });
          const stored = await store.head(key, signal);
          if (stored !== null) return stored;
        }
      }
    };
    return withDeadline(unwanted, jobDeadline, ({ signal }) => work(signal), { late });
  }
}

/** Throws a 422 for a file that says of itself that it is no picture. */
function assertPictured({ contentType }: CloudFile): void {
  if (contentType === 'image/svg+xml') throw invalidImage('SVG is not rendered');
  if (!/^(?:image|video)\//.test(contentType)) throw invalidImage(`its type is ${contentType}`);
}

/** A picture as a download sends it. */
function variantFile(
  { name, originalName, ownerId, owner, projectSlug, expiresAt }: CloudFile,
  made: { readonly id: string; readonly variant: VariantAddress; readonly stored: StoredVariant },
): CloudFile {
  const { id, variant } = made;
  const { contentType, size, lastModified } = made.stored;
  const { hash, format } = variant;
  const extension = contentType.slice('image/'.length).replace('jpeg', 'jpg');
  return {
    // the source of the ETag: other encodings of a picture have other ones
    id,
    name: `${name}/${hash}.${format}`,
    originalName: `${originalName.replace(/\.[^.]*$/, '')}.${extension}`,
    ...{ ownerId, owner, projectSlug, expiresAt },
    objectKey: variantKey(variant),
    contentType,
    size,
    crc32: 0,
    createdAt: lastModified,
    updatedAt: lastModified,
  };
}
