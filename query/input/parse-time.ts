// RFC 3339 section 5.6. In a query a plus sign that is not escaped arrives as a space
const rfc3339 = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+ -])(\d\d):(\d\d))$/i;

const isDay = /^\d{4}-\d\d-\d\d$/;

/** The range of DateTime64. No record is older or newer, so a time beyond it compares like the end of the range. */
const first = Date.UTC(1900, 0, 1);
const last = Date.UTC(2300, 0, 1) - 1;

/** Reads an RFC 3339 time, to the millisecond: records have no finer times; a day is its first moment in UTC. Null: it is none. */
export function parseTime(text: string): Date | null {
  const match = rfc3339.exec(isDay.test(text) ? `${text}T00:00:00Z` : text);
  if (match === null) return null;
  const [, day, minute, second = '', fraction = '', sign, hours = '0', minutes = '0'] = match;
  if (Number(hours) > 23 || Number(minutes) > 59) return null;
  // "60" is a leap second (section 5.7), which no clock here counts
  const leap = second === '60';
  const normal = `${day}T${minute}:${leap ? '59' : second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const local = new Date(normal);
  // a day such as February 30th is moved to March, or is no time at all
  if (Number.isNaN(local.getTime()) || local.toISOString() !== normal) return null;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const time = local.getTime() - offset + (leap ? 1000 : 0);
  return new Date(Math.min(Math.max(time, first), last));
}
