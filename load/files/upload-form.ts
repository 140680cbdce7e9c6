import type { RequestBody } from '../http/answer.ts';
import { slicesOf } from '../seed/bytes.ts';
import { type Exchange, type FileCall, jsonOf } from './exchange.ts';
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

/** What a request has of such a form. */
export function formBody(exchange: Exchange, file: SeedFile): Pick<FileCall, 'fields' | 'body' | 'bytes'> {
  const bytes = formAround(file.name).head.byteLength + file.bytes + tail.byteLength;
  return formOf(bytes, formSlices(exchange.session.seed, file));
}

/** The same of a form whose bytes the caller makes. */
export function formOf(bytes: number, body: RequestBody): Pick<FileCall, 'fields' | 'body' | 'bytes'> {
  return { fields: `Content-Type: ${formContentType}\r\n`, body, bytes };
}

/** The body of the form of a file, from its first byte to its last. */
export function* formSlices(seed: number, { name, index, bytes }: SeedFile): Generator<Buffer> {
  yield formAround(name).head;
  yield* slicesOf(seed, index, 0, bytes);
  yield tail;
}

/** @returns the server's name for the file */
export function uploadByForm(exchange: Exchange, file: SeedFile): Promise<string> {
  return sendForm(exchange, exchange.path('upload'), formBody(exchange, file));
}

/** @param path where the form goes @returns the server's name for the file */
export async function sendForm(
  exchange: Exchange,
  path: string,
  form: Pick<FileCall, 'fields' | 'body' | 'bytes'>,
): Promise<string> {
  return jsonOf<{ name: string }>(await exchange.expect(200, { request: `POST ${path}`, ...form })).name;
}
