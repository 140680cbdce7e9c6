import { type Exchange, jsonOf } from '../../files/exchange.ts';
import type { SeedFile } from '../../files/file-session.ts';

/** @returns the path of the file */
export async function uploadParseFile(
  base: string,
  fields: string,
  exchange: Exchange,
  file: SeedFile,
): Promise<string> {
  const answer = await exchange.expect(201, {
    request: `POST ${base}/files/${encodeURIComponent(file.name)}`,
    fields: `${fields}Content-Type: application/octet-stream\r\n`,
    body: exchange.slices(file, 0, file.bytes),
    bytes: file.bytes,
  });
  return new URL(jsonOf<{ url: string }>(answer).url).pathname;
}
