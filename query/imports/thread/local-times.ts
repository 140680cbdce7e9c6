import { TimeZone } from '#records/types/time-zone.ts';

const second = 1000;
const day = 86_400 * second;
/** The times whose clocks are known: later changes are not decided. */
const known = { first: Date.UTC(1900, 0, 2), end: Date.UTC(2100, 0, 1) };
/** Clocks are never changed twice in a shorter time. */
const shortest = 5 * day;

/** What clocks that show a time say about when it was. */
type Offset = number | 'skipped' | 'twice' | 'unknown';

/** Offsets from UTC by the clocks of a place: each begins at a time that they show, in milliseconds as if it were in UTC. */
export interface LocalTimes {
  readonly zone: string;
  /** In their order. The first one is before all times. */
  readonly starts: readonly number[];
  readonly offsets: readonly Offset[];
}

/** Takes some tens of milliseconds: `Intl` is asked 15,000 times. @param name a known one */
export function localTimes(name: string): LocalTimes {
  const zone = TimeZone.named(name) as TimeZone;
  if (zone.name === TimeZone.utc.name)
    return { zone: name, starts: [Number.NEGATIVE_INFINITY], offsets: [0] };
  let offset = zone.offsetAt(known.first);
  const starts = [Number.NEGATIVE_INFINITY, known.first + offset];
  const offsets: Offset[] = ['unknown', offset];
  const begin = (local: number, offset: Offset): void => {
    starts.push(local);
    offsets.push(offset);
  };
  for (let at = known.first; at < known.end; at += shortest) {
    const next = zone.offsetAt(at + shortest);
    if (next === offset) continue;
    const change = changeBetween(zone, at, at + shortest);
    const [first, last] = [change + Math.min(offset, next), change + Math.max(offset, next)];
    begin(first, next > offset ? 'skipped' : 'twice');
    begin(last, next);
    offset = next;
  }
  begin(known.end + offset, 'unknown');
  return { zone: name, starts, offsets };
}

/** The first second with the later offset. */
function changeBetween(zone: TimeZone, from: number, to: number): number {
  const before = zone.offsetAt(from);
  let [early, late] = [from, to];
  while (late - early > second) {
    const middle = early + Math.floor((late - early) / 2 / second) * second;
    if (zone.offsetAt(middle) === before) early = middle;
    else late = middle;
  }
  return late;
}

/** When a place's clocks show a time. @param local milliseconds as if it were in UTC */
export function offsetOf({ starts, offsets }: LocalTimes, local: number): Offset {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= local) low = middle;
    else high = middle;
  }
  return offsets[low] as Offset;
}

/** Why a time is none, as the end of a sentence. */
export function offsetProblem(offset: Exclude<Offset, number>, zone: string): string {
  switch (offset) {
    case 'skipped':
      return `is skipped by the clocks of ${zone}`;
    case 'twice':
      return `is there twice by the clocks of ${zone}: its offset should be written`;
    case 'unknown':
      return 'is outside of the years 1900 to 2099, and its offset should be written';
  }
}

/** Of times that have no zone; null: they are a problem. */
export function zoneTimes({ timeZone }: { readonly timeZone?: string }): LocalTimes | null {
  return timeZone === undefined ? null : localTimes(timeZone);
}
