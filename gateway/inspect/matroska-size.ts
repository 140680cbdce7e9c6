import { durationOf, type MediaSizes, sidesOf } from './sizes.ts';

/** Ids of elements (RFC 9559, section 5.1). */
const ids = {
  ebml: 0x1a45dfa3,
  segment: 0x18538067,
  cluster: 0x1f43b675,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackType: 0x83,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  cropBottom: 0x54aa,
  cropTop: 0x54bb,
  cropLeft: 0x54cc,
  cropRight: 0x54dd,
  displayWidth: 0x54b0,
  displayHeight: 0x54ba,
  displayUnit: 0x54b2,
  projection: 0x7670,
} as const;

/** Most elements of a container that are passed over. */
const mostElements = 10_000;
/** The unit of times, unless the file says another. Nanoseconds. */
const usualScale = 1_000_000;

interface Element {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

/** Sides and duration of WebM and Matroska, which have both before their first cluster. Live recordings have no duration. */
export function matroskaSize(head: Buffer): MediaSizes {
  let segment: Element | undefined;
  for (const element of elementsIn(head, 0, Number.MAX_SAFE_INTEGER))
    if (element.id === ids.segment) segment = element;
  if (segment === undefined) return {};
  let sizes: MediaSizes = {};
  for (const element of elementsIn(head, segment.start, segment.end)) {
    if (element.id === ids.cluster || element.end > head.length) break;
    if (element.id === ids.info) sizes = { ...sizes, ...lengthOf(head, element) };
    if (element.id === ids.tracks) sizes = { ...sizes, ...sidesIn(head, element) };
  }
  return sizes;
}

function lengthOf(head: Buffer, info: Element): MediaSizes {
  let scale = usualScale;
  let units = 0;
  for (const element of elementsIn(head, info.start, info.end)) {
    if (element.id === ids.timestampScale) scale = unsigned(head, element);
    if (element.id === ids.duration) units = float(head, element);
  }
  return durationOf((units * scale) / 1e9);
}

/** The sides of the first video track. */
function sidesIn(head: Buffer, tracks: Element): MediaSizes {
  for (const entry of elementsIn(head, tracks.start, tracks.end)) {
    if (entry.id !== ids.trackEntry) continue;
    const parts = [...elementsIn(head, entry.start, entry.end)];
    const type = parts.find(({ id }) => id === ids.trackType);
    const video = parts.find(({ id }) => id === ids.video);
    if (type !== undefined && video !== undefined && unsigned(head, type) === 1)
      return trackSides(head, video);
  }
  return {};
}

function trackSides(head: Buffer, video: Element): MediaSizes {
  const values = new Map<number, number>();
  for (const element of elementsIn(head, video.start, video.end)) {
    // a sphere, or turned by some angle
    if (element.id === ids.projection) return {};
    if (element.end - element.start <= 6) values.set(element.id, unsigned(head, element));
  }
  const value = (id: number): number => values.get(id) ?? 0;
  const width = value(ids.pixelWidth) - value(ids.cropLeft) - value(ids.cropRight);
  const height = value(ids.pixelHeight) - value(ids.cropTop) - value(ids.cropBottom);
  // centimetres, inches, or a ratio
  if (value(ids.displayUnit) !== 0) return {};
  return sidesOf(values.get(ids.displayWidth) ?? width, values.get(ids.displayHeight) ?? height);
}

/** RFC 8794: the elements between two places, up to the first that can't be right, or begins behind the known bytes. */
function* elementsIn(head: Buffer, start: number, end: number): Generator<Element, void, undefined> {
  let at = start;
  for (let element = 0; element < mostElements && at < Math.min(end, head.length); element += 1) {
    const idLength = Math.clz32(head[at] as number) - 23;
    const lengthAt = at + idLength;
    if (idLength > 4 || lengthAt >= head.length) return;
    const lengthLength = Math.clz32(head[lengthAt] as number) - 23;
    const contents = lengthAt + lengthLength;
    if (lengthLength > 8 || contents > head.length) return;
    const id = head.readUIntBE(at, idLength);
    const length = lengthOfElement(head, lengthAt, lengthLength);
    // of an unknown size: up to the end of its container
    const until = length === null ? end : contents + length;
    if (until > end) return;
    yield { id, start: contents, end: until };
    at = until;
  }
}

/** Null: its bits are all ones, which means that it is not known. */
function lengthOfElement(head: Buffer, at: number, bytes: number): number | null {
  let length = (head[at] as number) & (0xff >> bytes);
  let isUnknown = length === 0xff >> bytes;
  for (let byte = 1; byte < bytes; byte += 1) {
    const next = head[at + byte] as number;
    isUnknown &&= next === 0xff;
    length = length * 256 + next;
  }
  return isUnknown ? null : length;
}

function unsigned(head: Buffer, { start, end }: Element): number {
  return end === start ? 0 : head.readUIntBE(start, Math.min(end - start, 6));
}

function float(head: Buffer, { start, end }: Element): number {
  if (end - start === 4) return head.readFloatBE(start);
  return end - start === 8 ? head.readDoubleBE(start) : 0;
}
