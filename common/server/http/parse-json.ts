import { invalidBody } from '#kernel/errors/catalogue.ts';
import { RoundedNumber, refuseRounded } from '#kernel/json/rounded-number.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';

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
  if (cuts.length === 0) return parseText(decode(bytes, true), bytes);
  const elements: unknown[] = [];
  for (let i = 0; i <= cuts.length; i++) {
    if (i > 0) await letOthersRun(signal);
    // the text between two commas must be the inside of an array, or the whole is not JSON
    const start = i === 0 ? 0 : (cuts[i - 1] as number) + 1;
    const part = bytes.subarray(start, cuts[i]);
    const text = decode(part, i === 0);
    const piece = parseText(`${i === 0 ? '' : '['}${text}${i === cuts.length ? '' : ']'}`, part);
    if (!Array.isArray(piece) || piece.length === 0) throw notJson();
    for (const element of piece) elements.push(element);
  }
  return elements;
}

const [atBegin, inside] = [
  new TextDecoder('utf-8', { fatal: true }),
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }),
];

const notJson = (cause?: unknown) => invalidBody('Request body is not valid JSON', cause);

/** @param isBegin whether it is the beginning of the body: only there a byte order mark is ignored */
function decode(bytes: Uint8Array, isBegin: boolean): string {
  try {
    return (isBegin ? atBegin : inside).decode(bytes);
  } catch (cause) {
    throw invalidBody('Request body is not valid UTF-8', cause);
  }
}

/** @param bytes of the text. Throws if a number in them would be changed by parsing. */
function parseText(text: string, bytes: Uint8Array): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    refuseRounded(bytes, text);
    return value;
  } catch (cause) {
    if (!(cause instanceof RoundedNumber)) throw notJson(cause);
    throw invalidBody(
      `Request body: ${cause.message} (whole numbers up to 9007199254740991 always fit): send it as text`,
      cause,
    );
  }
}
