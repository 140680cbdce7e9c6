import { textLiteral } from '#engine/literal.ts';

const second = 1000;
const day = 86_400 * second;

/** Milliseconds; calendar units have no fixed length, because days of a time zone differ. */
const units = { s: second, m: 60 * second, h: 3600 * second, d: null, w: null, mo: null, y: null } as const;
type Unit = keyof typeof units;

/** The length of one bucket, in its unit. */
const longest = { clock: 100_000, calendar: 1000 };

/**
 * Stretches of time of one length, each with a number that grows by one: seconds, minutes and hours from 1970 on, days and
 * longer by the calendar of a time zone. Weeks begin on Mondays, months and years are counted from year 0.
 */
export class TimeBucket {
  readonly #count: number;
  readonly #unit: Unit;
  readonly #zone: TimeZone;
  readonly #names = new Map<number, string>();

  constructor(count: number, unit: Unit, zone: TimeZone) {
    this.#count = count;
    this.#unit = unit;
    this.#zone = zone;
  }

  /** The number of the bucket that a time is in. */
  sql(column: string): string {
    const zone = textLiteral(this.#zone.name);
    const count = this.#count;
    const days = `toInt32(toDate(${column}, ${zone}))`;
    switch (this.#unit) {
      case 'd':
        return `intDiv(${days}, ${count})`;
      case 'w':
        // 1970 began on a Thursday
        return `intDiv(${days} + 3, ${7 * count})`;
      case 'mo':
        return `intDiv(toYear(${column}, ${zone}) * 12 + toMonth(${column}, ${zone}) - 1, ${count})`;
      case 'y':
        return `intDiv(toYear(${column}, ${zone}), ${count})`;
      default:
        return `intDiv(toUnixTimestamp64Milli(${column}), ${count * units[this.#unit]})`;
    }
  }

  /** When a bucket begins, with the offset of the time zone (RFC 3339). */
  nameOf(number: number): string {
    let name = this.#names.get(number);
    if (name === undefined) {
      name = this.#zone.textOf(this.#beginOf(number));
      this.#names.set(number, name);
    }
    return name;
  }

  #beginOf(number: number): number {
    const at = number * this.#count;
    switch (this.#unit) {
      case 'd':
        return this.#zone.beginOfDay(at * day);
      case 'w':
        return this.#zone.beginOfDay((at * 7 - 3) * day);
      case 'mo':
        return this.#zone.beginOfDay(new Date(0).setUTCFullYear(0, at, 1));
      case 'y':
        return this.#zone.beginOfDay(new Date(0).setUTCFullYear(at, 0, 1));
      default:
        return at * units[this.#unit];
    }
  }
}

/** Reads a length such as `15m` or `1mo`. A text is its problem. */
export function readEvery(text: unknown, zone: TimeZone): TimeBucket | string {
  const [, digits = '', unit = ''] =
    (typeof text === 'string' && /^(\d{1,6})(s|m|h|d|w|mo|y)$/.exec(text)) || [];
  if (unit === '') return `should be a number and one of ${Object.keys(units).join(', ')}, such as 15m`;
  const count = Number(digits);
  const most = units[unit as Unit] === null ? longest.calendar : longest.clock;
  if (count < 1 || count > most) return `should be from 1${unit} to ${most}${unit}`;
  return new TimeBucket(count, unit as Unit, zone);
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
    const offset = this.#offsetAt(time);
    const local = new Date(time + offset).toISOString().slice(0, 19);
    if (offset === 0) return `${local}Z`;
    const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
    return `${local}${offset < 0 ? '-' : '+'}${distance}`;
  }

  /** The first moment of a day, which is not midnight where clocks skip it. @param midnight as if it were in UTC */
  beginOfDay(midnight: number): number {
    // the offset may change at this very midnight
    const [early, late] = [this.#offsetAt(midnight - day), this.#offsetAt(midnight + day)];
    const first = midnight - Math.max(early, late);
    return first + this.#offsetAt(first) >= midnight ? first : midnight - Math.min(early, late);
  }

  /** Milliseconds that clocks are ahead of UTC. */
  #offsetAt(time: number): number {
    if (this.#format === null) return 0;
    const name = this.#format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
    if (sign === undefined) return 0;
    const distance = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * second;
    return sign === '-' ? -distance : distance;
  }
}

let zones: ReadonlySet<string> | undefined;

function knownZones(): ReadonlySet<string> {
  zones ??= new Set([...Intl.supportedValuesOf('timeZone'), 'UTC']);
  return zones;
}
