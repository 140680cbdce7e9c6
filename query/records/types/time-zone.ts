import { firstTime } from './times.ts';

const second = 1000;
const day = 86_400 * second;
const shortest = 5 * day;

/** Milliseconds. */
interface DayBegins {
  /** The first of these days, as if it were in UTC. */
  readonly from: number;
  readonly distance: number;
}

/** A change of clocks. Milliseconds; offsets are how much they are ahead of UTC. */
interface ClockChange {
  readonly time: number;
  readonly before: number;
  readonly after: number;
}

/** Times as the clocks of a place show them. */
export class TimeZone {
  static readonly utc = new TimeZone('UTC');
  readonly name: string;
  readonly #format: Intl.DateTimeFormat | null;

  private constructor(name: string) {
    this.name = name;
    const options = { timeZone: name, timeZoneName: 'longOffset' } as const;
    this.#format = name === 'UTC' ? null : new Intl.DateTimeFormat('en-US', options);
  }

  /** Null: unknown time zone, or one that the engine might not know. */
  static named(text: string): TimeZone | null {
    if (text === TimeZone.utc.name) return TimeZone.utc;
    try {
      const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions();
      return knownZones().has(timeZone) || timeZone.startsWith('Etc/') ? new TimeZone(timeZone) : null;
    } catch {
      return null;
    }
  }

  textOf(time: number): string {
    const offset = this.offsetAt(time);
    const local = new Date(time + offset).toISOString().slice(0, 19);
    if (offset === 0) return `${local}Z`;
    const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
    return `${local}${offset < 0 ? '-' : '+'}${distance}`;
  }

  /** The first moment of a day, which is not midnight where clocks skip it. @param midnight as if it were in UTC */
  beginOfDay(midnight: number): number {
    // the offset may change at this very midnight
    const [early, late] = [this.offsetAt(midnight - day), this.offsetAt(midnight + day)];
    const first = midnight - Math.max(early, late);
    return first + this.offsetAt(first) >= midnight ? first : midnight - Math.min(early, late);
  }

  /** The days from which on days begin by another distance from midnight in UTC, in order. */
  dayBegins(): readonly DayBegins[] {
    const begins: DayBegins[] = [{ from: firstTime, distance: 0 }];
    const add = (from: number): void => {
      const distance = this.beginOfDay(from) - from;
      if (distance !== begins.at(-1)?.distance) begins.push({ from, distance });
    };
    // the days that a change may touch
    for (const { time } of this.changes(knownClocks))
      for (let at = -2; at <= 2; at++) add((Math.floor(time / day) + at) * day);
    return begins;
  }

  /**
   * When clocks change, in order: the first second with another offset. `Intl` is asked every five days, which takes some
   * tens of milliseconds for two centuries: clocks are never changed twice in a shorter time.
   */
  *changes({ first, end }: { readonly first: number; readonly end: number }): Generator<ClockChange> {
    let before = this.offsetAt(first - second);
    for (let late = first; ; late += shortest) {
      const after = this.offsetAt(late);
      if (after !== before) yield { time: this.#changeBetween(late - shortest, late), before, after };
      before = after;
      if (late >= end) return;
    }
  }

  #changeBetween(from: number, to: number): number {
    const before = this.offsetAt(from);
    let [early, late] = [from, to];
    while (late - early > second) {
      const middle = early + Math.floor((late - early) / 2 / second) * second;
      if (this.offsetAt(middle) === before) early = middle;
      else late = middle;
    }
    return late;
  }

  /** Milliseconds that clocks are ahead of UTC. */
  offsetAt(time: number): number {
    // the engine knows no other clocks
    if (this.#format === null || time < knownClocks.first || time >= knownClocks.end) return 0;
    const name = this.#format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
    if (sign === undefined) return 0;
    const distance = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * second;
    return sign === '-' ? -distance : distance;
  }
}

const knownClocks = { first: Date.UTC(1900, 0, 1), end: Date.UTC(2300, 0, 1) };

let zones: ReadonlySet<string> | undefined;

function knownZones(): ReadonlySet<string> {
  zones ??= new Set([...Intl.supportedValuesOf('timeZone'), 'UTC']);
  return zones;
}
