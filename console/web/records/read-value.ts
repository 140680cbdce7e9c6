import { parseExactly, RoundedNumber, roundingOf } from '#kernel/json/rounded-number.ts';

/** A value as the API takes it, or the problem of its text. */
export type ParsedValue = { readonly value: unknown } | { readonly problem: string };

/** The digits of a DECIMAL: the most, and how many of them are behind the point. */
export interface Digits {
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
}

export const mostDigits = 38;

/** Reads the digits that were typed for a field; a text is their problem. */
export function readDigits(precision: string, scale: string): Required<Digits> | string {
  const [most, behind] = [precision, scale].map((text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : -1)) as [
    number,
    number,
  ];
  if (most < 1 || most > mostDigits) return `Digits: write a whole number from 1 to ${mostDigits}.`;
  if (behind < 0 || behind > most) return `Digits behind the point: write a whole number from 0 to ${most}.`;
  return { precision: most, scale: behind };
}

export type ReadValue = (text: string, digits: Digits) => ParsedValue;

export const readAsText: ReadValue = (text) => ({ value: text });

export const readNumber: ReadValue = (text) => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return { problem: 'Write a number, such as 36 or 1.5.' };
  const rounding = roundingOf(text);
  if (rounding !== null) return { problem: `This number ${rounding}. Use a TEXT field for it.` };
  return { value };
};

export const readBoolean: ReadValue = (text) => {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === 'false') return { value: word === 'true' };
  return { problem: 'Choose true or false.' };
};

const wholeNumber = /^[+-]?\d+$/;
const noWholeNumber: ParsedValue = { problem: 'Write a whole number, such as 36.' };

export const readInteger: ReadValue = (text) => {
  const value = Number(text);
  if (!wholeNumber.test(text.trim())) return noWholeNumber;
  const most = Number.MAX_SAFE_INTEGER;
  if (!Number.isSafeInteger(value))
    return { problem: `Write a whole number from ${-most} to ${most}. A BIGINT field takes more.` };
  return { value: value === 0 ? 0 : value };
};

export const readBigint: ReadValue = (text) => {
  if (!wholeNumber.test(text.trim())) return noWholeNumber;
  const value = BigInt(text.trim().replace('+', ''));
  const most = 2n ** 63n - 1n;
  if (BigInt.asIntN(64, value) !== value)
    return { problem: `Write a whole number from ${-most - 1n} to ${most}.` };
  return { value: String(value) };
};

export const readDecimal: ReadValue = (text, { precision = mostDigits, scale = 0 }) => {
  const [, whole, fraction = ''] = /^[+-]?(\d+)(?:\.(\d+))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return { problem: 'Write a number, such as 12.30.' };
  if (/[1-9]/.test(fraction.slice(scale)))
    return { problem: `Write at most ${digitsOf(scale)} behind the point.` };
  if (whole.replace(/^0+/, '').length > precision - scale)
    return { problem: `Write at most ${digitsOf(precision - scale)} before the point.` };
  return { value: text.trim() };
};

export function digitsOf(count: number): string {
  return count === 1 ? '1 digit' : `${count} digits`;
}

const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  // Date takes February 30th for March 2nd
  new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;

export const readDate: ReadValue = (text) =>
  isDay(text.trim()) ? { value: text.trim() } : { problem: 'Write a day, such as 2026-01-31.' };

const timeWithZone = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

export const readDatetime: ReadValue = (text) => {
  const [, day = ''] = timeWithZone.exec(text.trim()) ?? [];
  if (isDay(day) && !Number.isNaN(Date.parse(text))) return { value: text.trim() };
  return {
    problem: 'Write a time and its zone, such as 2026-01-31T12:00:00Z, or with +01:00 in place of Z.',
  };
};

/** A day means its beginning in UTC. */
export const readDayOrTime: ReadValue = (text, digits) =>
  readDatetime(isDay(text.trim()) ? `${text.trim()}T00:00:00Z` : text, digits);

/** A time of a record, where the API takes days as well. */
export const readRecordTime: ReadValue = (text) => {
  if (/^\d{4}-\d\d-\d\d(t.+)?$/i.test(text) && !Number.isNaN(Date.parse(text))) return { value: text };
  return { problem: 'Write a day or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z.' };
};

export const readFileName: ReadValue = (text) => ({ value: text.trim() });

export const readArray: ReadValue = (text) => readJson(text, true);
export const readObject: ReadValue = (text) => readJson(text, false);

function readJson(text: string, isArray: boolean): ParsedValue {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch (error) {
    return { problem: jsonProblem(error) };
  }
  if (typeof value === 'object' && value !== null && Array.isArray(value) === isArray) return { value };
  return { problem: isArray ? 'Write a JSON array: [ … ].' : 'Write a JSON object: { … }.' };
}

/** @param error that `parseExactly` threw */
export function jsonProblem(error: unknown): string {
  if (error instanceof RoundedNumber) return `This can’t be stored: ${error.message}.`;
  return `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
}
