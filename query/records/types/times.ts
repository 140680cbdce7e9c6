/** Days and instants of the proleptic Gregorian calendar, years 0001 to 9999. */

const dayPattern = /^(\d{4})-(\d\d)-(\d\d)$/;
// RFC 3339 section 5.6
const timePattern = /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))?$/;

const milliseconds = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000 } as const;

/** Milliseconds since 1970. Date.UTC takes the years 0 to 99 for 1900 to 1999. */
function timeOf(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

export const firstTime = timeOf(1, 1, 1);
/** The first one that is too late. */
export const endOfTime = timeOf(10_000, 1, 1);

/** The beginning of a day such as `2026-01-31` in UTC, in milliseconds since 1970. Null: no such day. */
export function readDay(text: string): number | null {
  const [, year = '', month = '', day = ''] = dayPattern.exec(text) ?? [];
  const time = timeOf(Number(year), Number(month), Number(day));
  // Date moves February 30th to March
  return year !== '' && year !== '0000' && dayText(time) === text ? time : null;
}

/** @param time of the years 0001 to 9999 */
export function dayText(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** An instant: whole milliseconds since 1970, and microseconds behind them. */
export interface Instant {
  readonly time: number;
  /** From 0 to 999. */
  readonly micros: number;
}

/** Reads an RFC 3339 time with a zone. A text is its problem, as the end of a sentence. */
export function readInstant(text: string): Instant | string {
  const match = timePattern.exec(text);
  if (match === null) return dayPattern.test(text) ? needsTime : notRfc3339;
  const [, day = '', hour = '', minute = '', second = '', fraction = '', utc, sign, ...offset] = match;
  if (utc === undefined && sign === undefined) return needsZone;
  const begin = readDay(day);
  const [hours, minutes] = [Number(offset[0] ?? 0), Number(offset[1] ?? 0)];
  const isClock =
    Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60 && hours < 24 && minutes < 60;
  if (begin === null || !isClock)
    return `is not a time that exists${second === '60' ? ': it is a leap second' : ''}`;
  if (/[1-9]/.test(fraction.slice(6))) return 'has digits beyond the microsecond';
  const local =
    begin +
    Number(hour) * milliseconds.hour +
    Number(minute) * milliseconds.minute +
    Number(second) * milliseconds.second;
  const ahead = (hours * milliseconds.hour + minutes * milliseconds.minute) * (sign === '-' ? -1 : 1);
  const digits = fraction.slice(0, 6).padEnd(6, '0');
  const time = local - ahead + Number(digits.slice(0, 3));
  if (time < firstTime || time >= endOfTime) return 'is not in the years 0001 to 9999';
  return { time, micros: Number(digits.slice(3)) };
}

const notRfc3339 = 'should be written as 2026-01-31T12:00:00Z';
const needsZone = 'has no time zone: write 2026-01-31T12:00:00Z, or +01:00 in place of Z';
const needsTime = 'is only a day: write 2026-01-31T12:00:00Z';

/** UTC with three digits of a second, and six where there are more than three. */
export function instantText({ time, micros }: Instant): string {
  const text = new Date(time).toISOString();
  return micros === 0 ? text : `${text.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** Microseconds since 1970 of the text of a day or an instant, as digits. */
export function microsOfText(text: string): string {
  const day = timeOf(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10)));
  if (text.length === 10) return `${day}000`;
  const clock =
    Number(text.slice(11, 13)) * milliseconds.hour + Number(text.slice(14, 16)) * milliseconds.minute;
  const time = day + clock + Number(text.slice(17, 19)) * milliseconds.second + Number(text.slice(20, 23));
  const micros = text.length > 24 ? Number(text.slice(23, 26)) : 0;
  return String(BigInt(time) * 1000n + BigInt(micros));
}

/** @param micros microseconds since 1970, as digits */
export function textOfMicros(micros: string): string {
  const all = BigInt(micros);
  const rest = ((all % 1000n) + 1000n) % 1000n;
  return instantText({ time: Number((all - rest) / 1000n), micros: Number(rest) });
}

/** Microseconds: 400 years, after which the calendar repeats; and the beginning of the engine's years, which are 400. */
const cycle = '12622780800000000';
const begin = '-2208988800000000';

/** SQL for microseconds since 1970 as the text of an instant. */
export function instantTextSql(micros: string): string {
  const { cycles, time } = inEngine(micros);
  const text = `toString(${time})`;
  const fine = `if(substring(${text}, 24, 3) = '000', '', substring(${text}, 24, 3))`;
  return `concat(${yearSql(text, cycles)}, substring(${text}, 5, 6), 'T', substring(${text}, 12, 12), ${fine}, 'Z')`;
}

/** The same as the text of a day. */
export function dayTextSql(micros: string): string {
  const { cycles, time } = inEngine(micros);
  return `concat(${yearSql(`toString(${time})`, cycles)}, substring(toString(${time}), 5, 6))`;
}

function yearSql(text: string, cycles: string): string {
  return `leftPad(toString(toInt32(substring(${text}, 1, 4)) + 400 * ${cycles}), 4, '0')`;
}

/** Days from the year 0 on. */
const daysBefore1970 = 719_528;

/**
 * SQL for the largest whole number that is not above a quotient. The engine's division rounds to 0, so values are moved by
 * a multiple, which takes half the time of a condition. @param perDay how many of the value a day has
 */
export function floorSql(value: string, by: number, perDay: number): string {
  if (by === 1) return value;
  const multiples = BigInt(Math.ceil((daysBefore1970 * perDay) / by));
  return `(intDiv(${value} + ${multiples * BigInt(by)}, ${by}) - ${multiples})`;
}

/** SQL for a time of the engine, whose calendar is the same, and by how many times 400 years it is earlier. */
export function inEngine(micros: string): { readonly cycles: string; readonly time: string } {
  const cycles = floorSql(`(${micros} - ${begin})`, Number(cycle), 1000 * milliseconds.day);
  return { cycles, time: `fromUnixTimestamp64Micro(${micros} - ${cycles} * ${cycle}, 'UTC')` };
}

/** SQL for the text of a day or an instant, in its stored form, as microseconds since 1970. Another text has a number without a meaning. */
export function microsSql(text: string): string {
  const cycles = `intDiv(toInt32OrZero(substring(${text}, 1, 4)) + 500, 400)`;
  const year = `leftPad(toString(toInt32OrZero(substring(${text}, 1, 4)) - 400 * (${cycles} - 6)), 4, '0')`;
  const rest = `substring(replaceOne(replaceOne(${text}, 'T', ' '), 'Z', ''), 5)`;
  const shifted = `toUnixTimestamp64Micro(toDateTime64OrZero(concat(${year}, ${rest}), 6, 'UTC'))`;
  return `(${shifted} + toInt64(${cycles} - 6) * ${cycle})`;
}

const leapYear = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)';
/** Days of months that every year has, and the last one of February. */
const dayOfYear = '(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31';
const clock = '(?:[01][0-9]|2[0-3]):[0-5][0-9]';
const anyDay = `([0-9]{4}-(${dayOfYear})|${leapYear}-02-29)`;
const rfc3339 = `^${anyDay}[Tt]${clock}:[0-5][0-9]([.][0-9]{1,6}0*)?([Zz]|[+-]${clock})$`;

/** SQL for whether `readDay` takes a text. */
export function isDaySql(text: string): string {
  return `(match(${text}, '^${anyDay}$') AND NOT startsWith(${text}, '0000'))`;
}

/** SQL for whether `readInstant` takes a text. */
export function isRfc3339Sql(text: string): string {
  const years = `${rfc3339MicrosSql(text)} BETWEEN toInt64(${firstTime}000) AND toInt64(${endOfTime}000) - 1`;
  return `(match(${text}, '${rfc3339}') AND NOT startsWith(${text}, '0000') AND ${years})`;
}

/** SQL for microseconds since 1970 of an RFC 3339 text with a zone. Another text has a number without a meaning. */
export function rfc3339MicrosSql(text: string): string {
  const year = `toInt32OrZero(substring(${text}, 1, 4))`;
  const cycles = `(intDiv(${year} + 500, 400) - 6)`;
  const time = `concat(toString(${year} - 400 * ${cycles}), substring(${text}, 5, 6), ' ', extract(${text}, '[Tt]([0-9:.]*)'))`;
  const shifted = `toUnixTimestamp64Micro(toDateTime64OrZero(${time}, 6, 'UTC'))`;
  const offset = `extract(${text}, '[+-]${clock}$')`;
  const minutes = `toInt64OrZero(substring(${offset}, 1, 3)) * 60 + toInt64OrZero(concat(substring(${offset}, 1, 1), substring(${offset}, 5, 2)))`;
  return `(${shifted} + toInt64(${cycles}) * ${cycle} - (${minutes}) * 60000000)`;
}
