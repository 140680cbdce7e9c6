// RFC 3339 section 5.6. In a query a plus sign that is not escaped arrives as a space
const rfc3339 = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+ -])(\d\d):(\d\d))$/i;

const isDay = /^\d{4}-\d\d-\d\d$/;

/** The range of records' times, from the clock or from an import. Milliseconds. */
export const recordTimes = { first: 0, last: Date.UTC(2200, 0) - 1 } as const;

/** The range of DateTime64. */
const first = Date.UTC(1900, 0, 1);
const last = Date.UTC(2300, 0, 1) - 1;

/** The nearest time that records can have: milliseconds within a range. */
export interface ReadTime {
  readonly time: Date;
  /** Whether the parsed time is equal, later (1) or earlier (-1), with no possible time of a record between. */
  readonly beyond: -1 | 0 | 1;
}

/** The nearest time that records can have. Null: the text is not a time. */
export function parseTime(text: string): Date | null {
  return readTime(text)?.time ?? null;
}

/** Reads an RFC 3339 time; a day is its first moment in UTC. Null: not a time. */
export function readTime(text: string): ReadTime | null {
  const match = rfc3339.exec(isDay.test(text) ? `${text}T00:00:00Z` : text);
  if (match === null) return null;
  const [, day, minute, second = '', fraction = '', sign, hours = '0', minutes = '0'] = match;
  if (Number(hours) > 23 || Number(minutes) > 59) return null;
  // "60" is a leap second (section 5.7), which no clock here counts
  const leap = second === '60';
  const normal = `${day}T${minute}:${leap ? '59' : second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const local = new Date(normal);
  // Date moves a day such as February 30th to March, or refuses it
  if (Number.isNaN(local.getTime()) || local.toISOString() !== normal) return null;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const time = local.getTime() - offset + (leap ? 1000 : 0);
  if (time < first) return { time: new Date(first), beyond: -1 };
  const isFiner = /[1-9]/.test(fraction.slice(3));
  return { time: new Date(Math.min(time, last)), beyond: time > last || isFiner ? 1 : 0 };
}
