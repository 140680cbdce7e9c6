import { invalidBody } from '../errors/catalogue.ts';
import { letOthersRun } from '../limits/yielding-loop.ts';
import { roundedInteger } from './rounded-integer.ts';

/**
 * Parses a body as JSON. Throws 400.
 * @param cuts offsets of commas between elements of an outermost array (see JsonScanner): other requests run between
 * the pieces
 */
export async function parseJson(
  bytes: Uint8Array,
  signal: AbortSignal,
  cuts: readonly number[] = [],
): Promise<unknown> {
  if (cuts.length === 0) {
    const value = parseText(decode(bytes, false));
    refuseRounded(bytes);
    return value;
  }
  const elements: unknown[] = [];
  for (let i = 0; i <= cuts.length; i++) {
    if (i > 0) await letOthersRun(signal);
    // between two commas is what could stand in an array alone, or the whole is no JSON
    const start = i === 0 ? 0 : (cuts[i - 1] as number) + 1;
    const part = bytes.subarray(start, cuts[i]);
    const text = decode(part, i > 0);
    const piece = parseText(`${i === 0 ? '' : '['}${text}${i === cuts.length ? '' : ']'}`);
    if (!Array.isArray(piece) || piece.length === 0) throw notJson();
    refuseRounded(part);
    for (const element of piece) elements.push(element);
  }
  return elements;
}

const notJson = (cause?: unknown) => invalidBody('Request body is not valid JSON', cause);

/** @param inside it is not the beginning of the body: only there is a byte order mark no part of the text */
function decode(bytes: Uint8Array, inside: boolean): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: inside }).decode(bytes);
  } catch (cause) {
    throw invalidBody('Request body is not valid UTF-8', cause);
  }
}

/** A number is a double: what would be stored as another one is refused, and not rounded without a word. */
function refuseRounded(bytes: Uint8Array): void {
  const rounded = roundedInteger(bytes);
  if (rounded === null) return;
  const shown = rounded.length > 40 ? `${rounded.slice(0, 40)}…` : rounded;
  throw invalidBody(
    `The number ${shown} has more digits than a NUMBER can hold (whole numbers up to 9007199254740991 always fit): send it as text`,
  );
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw notJson(cause);
  }
}
