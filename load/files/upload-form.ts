import { type Exchange, jsonOf } from './exchange.ts';
import type { SeedFile } from './file-session.ts';

const boundary = '----SluiceLoad7MA4YWxkTrZu0gW5';
const tail = Buffer.from(`\r\n--${boundary}--\r\n`);

export const formContentType = `multipart/form-data; boundary=${boundary}`;

/** The body of a form with one file, around the file's bytes (RFC 7578). */
export function formAround(name: string): { readonly head: Buffer; readonly tail: Buffer } {
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
  return { head, tail };
}

/** @returns the server's name for the file */
export async function uploadByForm(exchange: Exchange, file: SeedFile): Promise<string> {
  const { head } = formAround(file.name);
  const answer = await exchange.expect(200, {
    request: `POST ${exchange.path('upload')}`,
    fields: `Content-Type: ${formContentType}\r\n`,
    body: formSlices(head, exchange.slices(file, 0, file.bytes)),
    bytes: head.byteLength + file.bytes + tail.byteLength,
  });
  return jsonOf<{ name: string }>(answer).name;
}

function* formSlices(head: Buffer, slices: Iterable<Buffer>): Generator<Buffer> {
  yield head;
  yield* slices;
  yield tail;
}
