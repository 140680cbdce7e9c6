import { type Exchange, jsonOf } from '../../files/exchange.ts';
import type { SeedFile } from '../../files/file-session.ts';
import { formBody } from '../../files/upload-form.ts';
import { filesCollection } from './prepare-collections.ts';

/** A file of PocketBase belongs to a record. @returns its path */
export async function uploadToCollection(base: string, exchange: Exchange, file: SeedFile): Promise<string> {
  const form = formBody(exchange, file);
  const answer = await exchange.expect(200, {
    request: `POST ${base}/api/collections/${filesCollection}/records`,
    ...form,
  });
  const { id, file: name } = jsonOf<{ id: string; file: string }>(answer);
  return `${base}/api/files/${filesCollection}/${id}/${name}`;
}
