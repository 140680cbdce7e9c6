import { isUtf8 } from 'node:buffer';

/** The most bytes that are read. */
const most = 64 * 1024;

/** Whether the first bytes of a file are text: UTF-8, or UTF-16 with its mark, without control characters. */
export function isText(head: Buffer): boolean {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const some = head.subarray(0, most);
  if (some.some(isBinary)) return false;
  // the end may lie in the middle of a character of up to four bytes
  return [0, 1, 2, 3].some((cut) => isUtf8(some.subarray(0, Math.max(0, some.length - cut))));
}

/** Bytes that no text has (https://mimesniff.spec.whatwg.org/#binary-data-byte). */
function isBinary(byte: number): boolean {
  return byte < 0x20 && byte !== 0x1b && (byte < 0x09 || byte > 0x0d || byte === 0x0b);
}
