import { textLiteral } from '#engine/literal.ts';
import { TimeZone } from '../../types/time-zone.ts';
import { dayText, floorSql, inEngine } from '../../types/times.ts';

const second = 1000;
const day = 86_400 * second;

/** Milliseconds; calendar units have no fixed length, because days of a time zone differ. */
const units = { s: second, m: 60 * second, h: 3600 * second, d: null, w: null, mo: null, y: null } as const;
type Unit = keyof typeof units;

/** The length of one bucket, in its unit. */
const longest = { clock: 100_000, calendar: 1000 };

/** SQL for what buckets are numbered by. */
interface BucketParts {
  /** Time since 1970. */
  readonly clock: string;
  readonly perMillisecond: number;
  /** Since 1970, by the calendar. */
  readonly days: string;
  /** Since the year 0. */
  readonly months: string;
}

/**
 * Stretches of time of one length, each with a number that grows by one: seconds, minutes and hours from 1970 on, days and
 * longer by the calendar of a time zone. Weeks begin on Mondays, months and years are counted from year 0.
 */
export class TimeBucket {
  readonly #count: number;
  readonly #unit: Unit;
  readonly #zone: TimeZone;
  readonly #ofDays: boolean;
  readonly #names = new Map<number, string>();

  /** @param zone null: the buckets are of days without a time */
  constructor(count: number, unit: Unit, zone: TimeZone | null) {
    this.#count = count;
    this.#unit = unit;
    this.#zone = zone ?? TimeZone.utc;
    this.#ofDays = zone === null;
  }

  /** The number of the bucket that a time of a record is in. */
  sql(column: string): string {
    const zone = textLiteral(this.#zone.name);
    const days = `toInt32(toDate(${column}, ${zone}))`;
    const months = `toYear(${column}, ${zone}) * 12 + toMonth(${column}, ${zone}) - 1`;
    return this.#number({ clock: `toUnixTimestamp64Milli(${column})`, perMillisecond: 1, days, months });
  }

  /**
   * The same of microseconds since 1970. The engine knows the clocks of the years 1900 to 2299; others are those of UTC.
   */
  sqlOfMicros(micros: string): string {
    const { cycles, time } = inEngine(micros);
    const local = `toTimeZone(${time}, ${textLiteral(this.#zone.name)})`;
    const isKnown = `${cycles} = 0`;
    const days = `if(${isKnown}, toInt32(toDate32(${local})), ${floorSql(micros, 1000 * day, 1000 * day)})`;
    const monthsOf = (of: string): string => `(toYear(${of}) + 400 * ${cycles}) * 12 + toMonth(${of}) - 1`;
    const months = `if(${isKnown}, ${monthsOf(local)}, ${monthsOf(time)})`;
    return this.#number({ clock: micros, perMillisecond: 1000, days, months });
  }

  #number({ clock, perMillisecond, days, months }: BucketParts): string {
    const count = this.#count;
    switch (this.#unit) {
      case 'd':
        return floorSql(days, count, 1);
      case 'w':
        // 1970 began on a Thursday
        return floorSql(`(${days} + 3)`, 7 * count, 1);
      case 'mo':
        return `intDiv(${months}, ${count})`;
      case 'y':
        return `intDiv(${months}, ${12 * count})`;
      default:
        return floorSql(clock, count * units[this.#unit] * perMillisecond, day * perMillisecond);
    }
  }

  /** Whether its days exist: the clocks of Samoa skipped a whole one. */
  exists(number: number): boolean {
    return this.nameOf(number) !== this.nameOf(number + 1);
  }

  /** When a bucket begins, with the offset of the time zone (RFC 3339), or its first day. */
  nameOf(number: number): string {
    let name = this.#names.get(number);
    if (name === undefined) {
      const begin = this.#beginOf(number);
      name = this.#ofDays ? dayText(begin) : this.#zone.textOf(begin);
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

/** Reads a length such as `15m` or `1mo`. A text is its problem. @param zone null: of days without a time */
export function readEvery(text: unknown, zone: TimeZone | null): TimeBucket | string {
  const [, digits = '', unit = ''] =
    (typeof text === 'string' && /^(\d{1,6})(s|m|h|d|w|mo|y)$/.exec(text)) || [];
  if (unit === '') return `should be a number and one of ${Object.keys(units).join(', ')}, such as 15m`;
  if (zone === null && units[unit as Unit] !== null)
    return 'should be a day or longer, such as 1d: the field has days without a time';
  const count = Number(digits);
  const most = units[unit as Unit] === null ? longest.calendar : longest.clock;
  if (count < 1 || count > most) return `should be from 1${unit} to ${most}${unit}`;
  return new TimeBucket(count, unit as Unit, zone);
}
