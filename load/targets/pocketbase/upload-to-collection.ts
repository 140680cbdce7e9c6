import { type Exchange, jsonOf } from '../../files/exchange.ts';
import type { SeedFile } from '../../files/file-session.ts';
import { formAround, formContentType } from '../../files/upload-form.ts';
import { filesCollection } from './prepare-collections.ts';

/** A file of PocketBase belongs to a record. @returns its path */
export async function uploadToCollection(base: string, exchange: Exchange, file: SeedFile): Promise<string> {
  const { head, tail } = formAround(file.name);
  const answer = await exchange.expect(200, {
    request: `POST ${base}/api/collections/${filesCollection}/records`,
    fields: `Content-Type: ${formContentType}\r\n`,
    body: formSlices(head, exchange.slices(file, 0, file.bytes), tail),
    bytes: head.byteLength + file.bytes + tail.byteLength,
  });
  const { id, file: name } = jsonOf<{ id: string; file: string }>(answer);
  return `${base}/api/files/${filesCollection}/${id}/${name}`;
}

function* formSlices(head: Buffer, slices: Iterable<Buffer>, tail: Buffer): Generator<Buffer> {
  yield head;
  yield* slices;
  yield tail;
}
