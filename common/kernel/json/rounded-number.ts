/** A double holds any integer with fewer digits: 2^53 has sixteen. */
const fewestDigits = 16;
/** A number with more digits is beyond the range of a double. */
const mostDigits = 309;

/** `1e-324` and shorter. */
const shortestVanishing = 6;

const quote = 0x22;
const minus = 0x2d;
const backslash = 0x5c;

const latin1 = new TextDecoder('latin1');

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
/** "." "e" "E" "+": characters of a fraction or an exponent. */
const isOfFraction = (byte: number | undefined): boolean =>
  byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b;

/** A number in a JSON text that a double can't hold; `message` completes a sentence about the text. */
export class RoundedNumber extends Error {
  /** @param number as written in the text */
  constructor(number: string) {
    const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number;
    super(`the number ${shown} ${roundingOf(number)}`);
  }
}

/** Like JSON.parse, but throws a RoundedNumber for a number that JSON.parse would silently change (`roundingOf`). */
export function parseExactly(json: string): unknown {
  const value = JSON.parse(json) as unknown;
  // to encode a record takes as long as to parse it
  if (mayRound(json)) refuseRounded(new TextEncoder().encode(json), json);
  return value;
}

/** Throws a RoundedNumber. @param json the same content as bytes and as text */
export function refuseRounded(json: Uint8Array, text: string): void {
  const rounded = roundedNumber(json, text);
  if (rounded !== null) throw new RoundedNumber(rounded);
}

/** The first number in a JSON text that a double can't hold, as written; null: there is none. */
export function roundedNumber(json: Uint8Array, text: string): string | null {
  if (!mayRound(text)) return null;
  const { length } = json;
  for (let i = 0; i < length; i++) {
    if (json[i] === quote) {
      // skip to the end of the string
      for (i++; i < length && json[i] !== quote; i++) if (json[i] === backslash) i++;
    } else if (isDigit(json[i])) {
      const start = i;
      while (isDigit(json[i])) i++;
      const digits = i - start;
      if (!isOfFraction(json[i])) {
        const text = asText(json.subarray(start, start + Math.min(digits, mostDigits + 1)));
        if (roundingOf(text) !== null) return json[start - 1] === minus ? `-${text}` : text;
      }
      let isSmall = false;
      for (; isDigit(json[i]) || isOfFraction(json[i]) || json[i] === minus; i++)
        isSmall ||= json[i] === minus;
      if (isSmall || i - start > mostDigits) {
        const text = asText(json.subarray(json[start - 1] === minus ? start - 1 : start, i));
        if (isVanishing(text)) return text;
      }
      i--;
    }
  }
  return null;
}

/**
 * Why a double can't hold a number, as the end of a sentence about it; null: it can. Fractions may be rounded, as always.
 * @param number may have a sign, and spaces around it
 */
export function roundingOf(number: string): string | null {
  if (isRounded(number)) return 'has more digits than a NUMBER can hold';
  return isVanishing(number) ? 'is too close to 0 for a NUMBER' : null;
}

/** Whether a number other than 0 rounds to 0. */
function isVanishing(number: string): boolean {
  return number.length >= shortestVanishing && Number(number) === 0 && /^[^eE]*[1-9]/.test(number);
}

/**
 * Whether a number is an integer that is neither the value of a double nor its shortest text. JavaScript writes large
 * doubles with trailing zeros.
 */
function isRounded(number: string): boolean {
  if (number.length < fewestDigits) return false;
  // zeros are removed separately: `0*\d+` would backtrack over a long run of them
  const digits = (/^\s*[+-]?(\d+)\s*$/.exec(number)?.[1] ?? '').replace(/^0+/, '');
  if (digits.length > mostDigits) return true;
  const near = Number(digits);
  const shortest = String(near).replace(/e.*$/, '').replace('.', '');
  return withoutZeros(shortest) !== withoutZeros(digits) && BigInt(near) !== BigInt(digits);
}

const withoutZeros = (digits: string): string => digits.replace(/^0+|0+$/g, '');

function mayRound(json: string): boolean {
  return hasManyDigits(json) || hasSmallNumber(json);
}

/** Reads only every sixteenth character: no run of sixteen digits fits in between. */
function hasManyDigits(json: string): boolean {
  for (let i = fewestDigits - 1; i < json.length; i += fewestDigits) {
    if (!isDigit(json.charCodeAt(i))) continue;
    let start = i;
    while (i - start < 2 * fewestDigits && isDigit(json.charCodeAt(start - 1))) start--;
    let end = i + 1;
    while (end - start < fewestDigits && isDigit(json.charCodeAt(end))) end++;
    const before = json.charCodeAt(start - 1);
    // most such digits belong to a fraction or a string
    if (end - start >= fewestDigits && before !== 0x2e && before !== quote) return true;
  }
  return false;
}

// the second regex takes ten times as long on many digits
const exponent = /[eE]-\d{3}/;
const smallNumber = /(?:^|[\s:,[-])\d[\d.]*[eE]-\d{3}/;

/** Whether a number could round to 0: that takes many digits, or an exponent of at least three digits. */
function hasSmallNumber(text: string): boolean {
  return exponent.test(text) && smallNumber.test(text);
}

function asText(digits: Uint8Array): string {
  return latin1.decode(digits);
}
