import { microsOfText } from './times.ts';

/**
 * The text of a value in a column of whole numbers: microseconds since 1970 of a day or an instant, and the digits of other
 * values. A day has a dash as its fifth character, where no number has one.
 */
export function wholeText(text: string): string {
  if (text[4] === '-') return microsOfText(text);
  return text.includes('.') ? String(BigInt(text.replace('.', ''))) : text;
}
