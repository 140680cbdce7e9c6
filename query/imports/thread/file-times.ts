import { readInstant } from '#records/types/times.ts';
import { type LocalTimes, offsetOf, offsetProblem } from './local-times.ts';

/** Texts of times, as databases and data frames write them: RFC 3339, a space in place of the T, and offsets without a colon. */
const timePattern = /^(\d{4}-\d\d-\d\d)[ Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:([Zz])|([+-]\d\d)(?::?(\d\d))?)?$/;

export const zoneIsMissing = 'has no time zone: timeZone=Europe/Paris, for example, says which one is meant';

/**
 * A time of a file in RFC 3339, or its problem as the end of a sentence. Other texts are returned as they are.
 * @param zone of times that have none; null: they are a problem
 */
export function fileTime(text: string, zone: LocalTimes | null): string | { readonly problem: string } {
  const match = timePattern.exec(text);
  if (match === null) return text;
  const [, day = '', clock = '', fraction, utc, hours, minutes = '00'] = match;
  const digits = fraction === undefined ? '' : `.${fraction}`;
  if (utc !== undefined) return `${day}T${clock}${digits}Z`;
  if (hours !== undefined) return `${day}T${clock}${digits}${hours}:${minutes}`;
  if (zone === null) return { problem: zoneIsMissing };
  const local = readInstant(`${day}T${clock}Z`);
  if (typeof local === 'string') return { problem: local };
  const offset = offsetOf(zone, local.time);
  if (typeof offset !== 'number') return { problem: offsetProblem(offset, zone.zone) };
  return `${new Date(local.time - offset).toISOString().slice(0, 19)}${digits}Z`;
}

/** Whether a text can be nothing else than a time. */
export function isFileTime(text: string, zone: LocalTimes | null): boolean {
  if (!mayBeTime(text)) return false;
  const time = fileTime(text, zone);
  return typeof time === 'string' && typeof readInstant(time) !== 'string';
}

/** Whether a text is a time without a zone. */
export function isLocalTime(text: string): boolean {
  if (!mayBeTime(text)) return false;
  const time = fileTime(text, null);
  return typeof time !== 'string' && time.problem === zoneIsMissing;
}

function mayBeTime(text: string): boolean {
  return text.length >= 19 && text[4] === '-' && text[13] === ':';
}
