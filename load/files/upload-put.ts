import { type Exchange, jsonOf } from './exchange.ts';
import type { SeedFile } from './file-session.ts';

/** @returns the server's name for the file */
export async function uploadByPut(exchange: Exchange, file: SeedFile): Promise<string> {
  const answer = await exchange.expect(200, {
    request: `PUT ${exchange.path(encodeURIComponent(file.name))}`,
    fields: 'Content-Type: application/octet-stream\r\n',
    body: exchange.slices(file, 0, file.bytes),
    bytes: file.bytes,
  });
  return jsonOf<{ name: string }>(answer).name;
}
