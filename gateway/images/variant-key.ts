import { createHash } from 'node:crypto';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { FileKeyParts } from '#objects/file-key.ts';
import type { VariantFormat } from './accepted-format.ts';

/** Raised when pictures are made in another way: those before are made anew. */
const recipe = 1;
/** Keys of variants have six segments; no account has this id. */
const folder = '_variants';
const lastSegment = /^[0-9a-f]{16}\.(?:avif|webp|jpeg)$/;

/** A picture that was made of a file. */
export interface VariantAddress extends FileKeyParts {
  /** Of the preset. */
  readonly hash: string;
  readonly format: VariantFormat;
}

/** What the store has of a picture. */
export interface StoredVariant {
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  readonly lastModified: Date;
}

// a project's presets are read once for many pictures
const hashes = new WeakMap<object, string>();

/** Identifies a definition, whatever its name: a changed preset makes new pictures. 16 hexadecimal digits. */
export function presetHash(preset: Readonly<Omit<ImagePreset, 'name'>>): string {
  const known = hashes.get(preset);
  if (known !== undefined) return known;
  const { width, height, fit } = preset;
  const definition = JSON.stringify([recipe, width, height, fit]);
  const hash = createHash('sha256').update(definition).digest('hex').slice(0, 16);
  hashes.set(preset, hash);
  return hash;
}

export function variantsPrefix(deploymentId: string): string {
  return `${deploymentId}/${folder}/`;
}

/** The prefix of all pictures of a file. */
export function variantsOf({ deploymentId, ownerId, projectSlug, name }: FileKeyParts): string {
  return `${variantsPrefix(deploymentId)}${ownerId}/${projectSlug}/${name}/`;
}

export function variantKey(variant: VariantAddress): string {
  return `${variantsOf(variant)}${variant.hash}.${variant.format}`;
}

/** What lies under a key; null: it is not the key of a variant. */
export function readVariantKey(key: string): VariantAddress | null {
  const [deploymentId = '', middle, ownerId = '', projectSlug = '', name = '', last = '', ...more] =
    key.split('/');
  if (middle !== folder || more.length > 0 || !isStoredName(name) || !lastSegment.test(last)) return null;
  const [hash = '', format] = last.split('.');
  return { deploymentId, ownerId, projectSlug, name, hash, format: format as VariantFormat };
}
