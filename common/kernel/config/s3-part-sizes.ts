const mebibyte = 1024 ** 2;
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html: "Maximum number of parts per upload: 10,000" */
const maxParts = 10_000;
/** The same page: "Part size: 5 MiB to 5 GiB. There is no minimum size limit on the last part." */
export const smallestPart = 5 * mebibyte;
/** Of parts that clients send by themselves: the same for every store. */
export const directPartLimits = {
  smallestPart,
  largestPart: 5 * 1024 * mebibyte,
  mostParts: maxParts,
} as const;
/** Parts of the base size at the beginning of an upload of unknown length. */
const smallParts = 5_000;
/** Fewer than S3 allows, so that an exact fit never needs one more part. */
const spareParts = 100;

export interface PartSizes {
  /** The default size of parts. Bytes. */
  readonly partBytes: number;
  /** The size limit of an object. Bytes. */
  readonly maxObjectBytes: number;
}

/**
 * The size of a part, so that the object fits into 10,000 parts and uses as little memory as possible: the base size if
 * that is enough, or a larger size if the object is known to need it. If the length is unknown, the first 5,000 parts
 * have the base size, and further parts are large enough for the largest object.
 * @param index of the part, from 0
 * @param maxBytes upper bound of the object's size; Infinity: unknown
 * @param small use S3's smallest part instead of the base size, unless an object of unknown length could outgrow it
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
