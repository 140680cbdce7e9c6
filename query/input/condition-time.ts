const timestamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?Z$/;
/** What DateTime64 can hold. */
const firstYear = 1900;
const lastYear = 2299;

/** Reads a time as answers show it (ISO 8601, UTC, up to milliseconds); null when it is not one. */
export function readConditionTime(text: string): Date | null {
  const match = timestamp.exec(text);
  if (match === null) return null;
  const normal = `${match[1]}.${(match[2] ?? '').padEnd(3, '0')}Z`;
  const time = new Date(normal);
  // a day such as February 30th is moved to March, or is no time at all
  if (Number.isNaN(time.getTime()) || time.toISOString() !== normal) return null;
  const year = time.getUTCFullYear();
  return year >= firstYear && year <= lastYear ? time : null;
}
