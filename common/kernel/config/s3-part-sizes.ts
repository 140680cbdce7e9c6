const mebibyte = 1024 ** 2;
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html: "Maximum number of parts per upload: 10,000" */
const maxParts = 10_000;
/** The same page: "Part size: 5 MiB to 5 GiB. There is no minimum size limit on the last part." */
export const smallestPart = 5 * mebibyte;
/** Parts of the base size at the beginning of an upload of unknown length. */
const smallParts = 5_000;
/** Fewer than there are, so that a size that is met exactly never needs one more. */
const spareParts = 100;

export interface PartSizes {
  /** The size of parts where nothing speaks against it. Bytes. */
  readonly partBytes: number;
  /** The largest object there may be. Bytes. */
  readonly maxObjectBytes: number;
}

/**
 * How many bytes a part should have, so that the object fits into 10,000 parts and as little as possible is held in
 * memory: the base size where that does; one larger size when the object is known to need it; and when its length is
 * unknown, the base size for the first 5,000 parts and then one with which the largest object fits.
 * @param index of the part, from 0
 * @param maxBytes the object is no larger; Infinity when nothing is known
 * @param small the smallest that S3 takes instead of the base size, unless an object of unknown length could outgrow it
 */
export function partBytesFor(sizes: PartSizes, index: number, maxBytes: number, small = false): number {
  const { maxObjectBytes } = sizes;
  const longest = Math.min(maxBytes, maxObjectBytes);
  if (small && (maxBytes !== Number.POSITIVE_INFINITY || smallestPart * (maxParts - spareParts) >= longest)) {
    return uniform(Math.min(sizes.partBytes, smallestPart), longest);
  }
  const { partBytes } = sizes;
  if (maxBytes !== Number.POSITIVE_INFINITY) return uniform(partBytes, Math.min(maxBytes, maxObjectBytes));
  if (partBytes * (maxParts - spareParts) >= maxObjectBytes || index < smallParts) return partBytes;
  return afterSmallParts(sizes);
}

/** The largest size that `partBytesFor` returns: memory must hold one such part. */
export function largestPart({ partBytes, maxObjectBytes }: PartSizes): number {
  if (partBytes * (maxParts - spareParts) >= maxObjectBytes) return partBytes;
  return Math.max(uniform(partBytes, maxObjectBytes), afterSmallParts({ partBytes, maxObjectBytes }));
}

function uniform(partBytes: number, bytes: number): number {
  const needed = Math.ceil(bytes / (maxParts - spareParts));
  return needed <= partBytes ? partBytes : roundUp(needed);
}

function afterSmallParts({ partBytes, maxObjectBytes }: PartSizes): number {
  const rest = maxObjectBytes - smallParts * partBytes;
  return Math.max(partBytes, roundUp(Math.ceil(rest / (maxParts - smallParts - spareParts))));
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / mebibyte) * mebibyte;
}
