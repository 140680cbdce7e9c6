/** Fewer digits always fit: 2^53 has sixteen. */
const fewestDigits = 16;
/** More are beyond the range of a double. */
const mostDigits = 309;

const quote = 0x22;
const minus = 0x2d;
const backslash = 0x5c;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
/** "." "e" "E" "+": of a number that is written as a fraction, or with an exponent. */
const isOfFraction = (byte: number | undefined): boolean =>
  byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b;

/** An integer of a JSON text that a double rounds; `message` is the end of a sentence about the text. */
export class RoundedInteger extends Error {
  /** @param digits as they stand there */
  constructor(digits: string) {
    const shown = digits.length > 40 ? `${digits.slice(0, 40)}…` : digits;
    super(`the number ${shown} has more digits than a NUMBER can hold`);
  }
}

/** As JSON.parse, but an integer that it would silently round throws a RoundedInteger. */
export function parseExactly(json: string): unknown {
  const value = JSON.parse(json) as unknown;
  refuseRounded(new TextEncoder().encode(json));
  return value;
}

/** Throws a RoundedInteger. */
export function refuseRounded(json: Uint8Array): void {
  const rounded = roundedInteger(json);
  if (rounded !== null) throw new RoundedInteger(rounded);
}

/** The first integer of a JSON text that a double would round, as it stands there; null when there is none. */
export function roundedInteger(json: Uint8Array): string | null {
  if (!hasManyDigits(json)) return null;
  const { length } = json;
  for (let i = 0; i < length; i++) {
    if (json[i] === quote) {
      // to the end of the string
      for (i++; i < length && json[i] !== quote; i++) if (json[i] === backslash) i++;
    } else if (isDigit(json[i])) {
      const start = i;
      while (isDigit(json[i])) i++;
      const digits = i - start;
      if (!isOfFraction(json[i])) {
        const text = asText(json.subarray(start, start + Math.min(digits, mostDigits + 1)));
        if (isRounded(text)) return json[start - 1] === minus ? `-${text}` : text;
      }
      while (isDigit(json[i]) || isOfFraction(json[i]) || json[i] === minus) i++;
      i--;
    }
  }
  return null;
}

/**
 * Whether a number is an integer, and a double has neither its value nor its shortest text: as JavaScript writes them,
 * large doubles end in zeros.
 * @param number as people write it: with a sign, and spaces around it
 */
export function isRounded(number: string): boolean {
  if (number.length < fewestDigits) return false;
  // zeros are taken off by themselves: `0*\d+` would try a long row of them in all ways
  const digits = (/^\s*[+-]?(\d+)\s*$/.exec(number)?.[1] ?? '').replace(/^0+/, '');
  if (digits.length > mostDigits) return true;
  const near = Number(digits);
  const shortest = String(near).replace(/e.*$/, '').replace('.', '');
  return withoutZeros(shortest) !== withoutZeros(digits) && BigInt(near) !== BigInt(digits);
}

const withoutZeros = (digits: string): string => digits.replace(/^0+|0+$/g, '');

/** Looks at every sixteenth byte alone: no run of sixteen digits fits between two of them. */
function hasManyDigits(json: Uint8Array): boolean {
  for (let i = fewestDigits - 1; i < json.length; i += fewestDigits) {
    if (!isDigit(json[i])) continue;
    let start = i;
    while (i - start < 2 * fewestDigits && isDigit(json[start - 1])) start--;
    let end = i + 1;
    while (end - start < fewestDigits && isDigit(json[end])) end++;
    // digits of a fraction or of a text are the usual ones
    if (end - start >= fewestDigits && json[start - 1] !== 0x2e && json[start - 1] !== quote) return true;
  }
  return false;
}

function asText(digits: Uint8Array): string {
  return String.fromCharCode(...digits);
}
