import type { Answer } from '../http/connection.ts';
import { type Exchange, fieldOf, jsonOf } from './exchange.ts';
import type { SeedFile } from './file-session.ts';
import { Refusal } from './refusal.ts';

/** What tus asks of each request. */
const version = 'Tus-Resumable: 1.0.0\r\n';
export const usualChunk = 8 * 1024 * 1024;

/** Where an upload goes, and in which pieces. */
export interface TusUpload {
  /** Path of the endpoint. */
  readonly endpoint: string;
  readonly chunkBytes: number;
  /** Asked of the last request, each with its line break. */
  readonly lastFields: string;
}

/** @returns the server's name for the file */
export async function uploadByTus(exchange: Exchange, file: SeedFile): Promise<string> {
  const { answer, location } = await sendTus(exchange, file, {
    endpoint: exchange.path('resumable'),
    chunkBytes: usualChunk,
    lastFields: 'Accept: application/json\r\n',
  });
  // the creation of an empty file completes it
  if (answer.status === 200) return jsonOf<{ name: string }>(answer).name;
  return (await exchange.ask<{ name: string }>(200, `GET ${location}`)).name;
}

/** https://tus.io/protocols/resumable-upload, with any server. @returns the last answer, and the path of the upload */
export async function sendTus(
  exchange: Exchange,
  file: SeedFile,
  { endpoint, chunkBytes, lastFields }: TusUpload,
): Promise<{ readonly answer: Answer; readonly location: string }> {
  const { bytes, name } = file;
  const metadata = `filename ${Buffer.from(name).toString('base64')}`;
  let answer = await exchange.expect(201, {
    request: `POST ${endpoint}`,
    fields: `${version}Upload-Length: ${bytes}\r\nUpload-Metadata: ${metadata}\r\n`,
  });
  const address = fieldOf(answer, 'location');
  if (address === null) throw new Refusal(answer, 'no_location');
  const { pathname, search } = new URL(address, exchange.session.url + endpoint);
  const location = pathname + search;
  for (let offset = 0; offset < bytes; offset += chunkBytes) {
    const end = Math.min(offset + chunkBytes, bytes);
    const isLast = end === bytes;
    answer = await exchange.send({
      request: `PATCH ${location}`,
      fields:
        `${version}Upload-Offset: ${offset}\r\nContent-Type: application/offset+octet-stream\r\n` +
        (isLast ? lastFields : ''),
      body: exchange.slices(file, offset, end),
      bytes: end - offset,
    });
    if (answer.status !== 204 && !(isLast && answer.status === 200)) throw new Refusal(answer);
  }
  return { answer, location };
}
