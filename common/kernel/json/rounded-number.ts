/** Fewer digits always fit: 2^53 has sixteen. */
const fewestDigits = 16;
/** More are beyond the range of a double. */
const mostDigits = 309;

/** `1e-324` and shorter. */
const shortestVanishing = 6;

const quote = 0x22;
const minus = 0x2d;
const backslash = 0x5c;

const latin1 = new TextDecoder('latin1');

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
/** "." "e" "E" "+": of a number that is written as a fraction, or with an exponent. */
const isOfFraction = (byte: number | undefined): boolean =>
  byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b;

/** A number of a JSON text that no double holds; `message` is the end of a sentence about the text. */
export class RoundedNumber extends Error {
  /** @param number as it stands there */
  constructor(number: string) {
    const shown = number.length > 40 ? `${number.slice(0, 40)}…` : number;
    super(`the number ${shown} ${roundingOf(number)}`);
  }
}

/** As JSON.parse, but a number that it would silently make another one (`roundingOf`) throws a RoundedNumber. */
export function parseExactly(json: string): unknown {
  const value = JSON.parse(json) as unknown;
  refuseRounded(new TextEncoder().encode(json), json);
  return value;
}

/** Throws a RoundedNumber. @param json the same as bytes and as text */
export function refuseRounded(json: Uint8Array, text: string): void {
  const rounded = roundedNumber(json, text);
  if (rounded !== null) throw new RoundedNumber(rounded);
}

/** The first number of a JSON text that no double holds, as it stands there; null when there is none. */
export function roundedNumber(json: Uint8Array, text: string): string | null {
  if (!hasManyDigits(json) && !hasSmallNumber(text)) return null;
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
 * Why no double holds a number, as the end of a sentence about it; null: one does. Fractions are rounded, as everywhere.
 * @param number as people write it: with a sign, and spaces around it
 */
export function roundingOf(number: string): string | null {
  if (isRounded(number)) return 'has more digits than a NUMBER can hold';
  return isVanishing(number) ? 'is too close to 0 for a NUMBER' : null;
}

/** Of a number that is not 0, whether the nearest double is. */
function isVanishing(number: string): boolean {
  return number.length >= shortestVanishing && Number(number) === 0 && /^[^eE]*[1-9]/.test(number);
}

/**
 * Whether a number is an integer, and a double has neither its value nor its shortest text: as JavaScript writes them,
 * large doubles end in zeros.
 */
function isRounded(number: string): boolean {
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

// the second one takes ten times as long where there are many digits
const exponent = /[eE]-\d{3}/;
const smallNumber = /(?:^|[\s:,[-])\d[\d.]*[eE]-\d{3}/;

/** Whether a number may vanish: without many digits it has an exponent of three, or more. */
function hasSmallNumber(text: string): boolean {
  return exponent.test(text) && smallNumber.test(text);
}

function asText(digits: Uint8Array): string {
  return latin1.decode(digits);
}
