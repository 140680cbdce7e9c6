import { TimeZone } from '#records/types/time-zone.ts';

/** The times whose clocks are known: later changes are not decided. */
const known = { first: Date.UTC(1900, 0, 2), end: Date.UTC(2100, 0, 1) };

/** What clocks that show a time say about when it was. */
type Offset = number | 'skipped' | 'twice' | 'unknown';

/** Offsets from UTC by the clocks of a place: each begins at a time that they show, in milliseconds as if it were in UTC. */
export interface LocalTimes {
  readonly zone: string;
  /** In their order. The first one is before all times. */
  readonly starts: readonly number[];
  readonly offsets: readonly Offset[];
}

/** Takes some tens of milliseconds. @param name a known one */
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
  for (const { time, before, after } of zone.changes(known)) {
    begin(time + Math.min(before, after), after > before ? 'skipped' : 'twice');
    begin(time + Math.max(before, after), after);
    offset = after;
  }
  begin(known.end + offset, 'unknown');
  return { zone: name, starts, offsets };
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

/** The last ones: a dry run needs them for the types of a file, and again for its values. */
let last: LocalTimes | null = null;

/** Of times that have no zone; null: they are a problem. */
export function zoneTimes({ timeZone }: { readonly timeZone?: string }): LocalTimes | null {
  if (timeZone === undefined) return null;
  if (last?.zone !== timeZone) last = localTimes(timeZone);
  return last;
}
