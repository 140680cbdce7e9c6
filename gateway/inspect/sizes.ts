/** What is known of a picture, a film or a sound. */
export interface MediaSizes {
  /** Pixels as they are shown. Both or none. */
  readonly width?: number;
  readonly height?: number;
  /** Seconds. */
  readonly duration?: number;
}

/** The largest side that any format can have. Pixels. */
const longestSide = 2 ** 31 - 1;
/** Ten years: what says more is wrong. Seconds. */
const longest = 10 * 365 * 24 * 3600;

/** Sides in pixels; none if they can't be right. @param turned by a quarter */
export function sidesOf(width: number, height: number, turned = false): MediaSizes {
  const isSide = (side: number): boolean => Number.isInteger(side) && side >= 1 && side <= longestSide;
  if (!isSide(width) || !isSide(height)) return {};
  return turned ? { width: height, height: width } : { width, height };
}

/** A duration in seconds, to the millisecond; none if it can't be right. */
export function durationOf(seconds: number): MediaSizes {
  const duration = Math.round(seconds * 1000) / 1000;
  return duration > 0 && duration <= longest ? { duration } : {};
}
