/// <reference types="node" />
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Client } from './client.ts';
import type { CloudFile } from './files.ts';
import { type UploadOptions, upload } from './upload.ts';

/** Uploads the file at a path, which is streamed. With a `storage`, another process can resume the upload. */
export async function uploadPath(
  client: Client,
  path: string,
  options: UploadOptions = {},
): Promise<CloudFile> {
  const { mtimeMs: lastModified } = await stat(path);
  const file = Object.assign(await openAsBlob(path), { name: basename(path), lastModified });
  return upload(client, file, options);
}
