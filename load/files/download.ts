import { ByteCheck } from '../seed/bytes.ts';
import { type Exchange, fieldOf } from './exchange.ts';
import { nameOf, type StoredFile } from './file-session.ts';
import { Refusal } from './refusal.ts';

/** A server may send to a bucket, and that once to another address. */
const mostRedirects = 3;

/**
 * Downloads a file, and compares its bytes as they come.
 * @returns one sentence for bytes that are not those of the seed, or null. Throws a Refusal for a file that is not served.
 */
export async function download(exchange: Exchange, file: StoredFile): Promise<string | null> {
  const { url, seed } = exchange.session;
  let address = new URL(file.path, url);
  for (let redirects = 0; ; redirects++) {
    const check = new ByteCheck(seed, file.index);
    const { origin, pathname, search } = address;
    const answer = await exchange.send(
      { request: `GET ${pathname}${search}`, ...(redirects > 0 && { origin }) },
      // enough for an error
      { keep: 4096, onBody: (bytes) => check.add(bytes) },
    );
    const location = answer.status >= 301 && answer.status <= 308 ? fieldOf(answer, 'location') : null;
    if (location !== null && redirects < mostRedirects) {
      address = new URL(location, address);
      continue;
    }
    if (answer.status !== 200) throw new Refusal(answer);
    return problemOf(file, check);
  }
}

function problemOf(stored: StoredFile, { received, wrong }: ByteCheck): string | null {
  const { bytes } = stored;
  const file = nameOf(stored);
  if (wrong !== null && wrong.offset < bytes)
    return `${file}: the byte at offset ${wrong.offset} is ${hex(wrong.is)}, and ${hex(wrong.expected)} was sent`;
  return received === bytes ? null : `${file}: it has ${received} bytes, and ${bytes} were sent`;
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`;
}
