import { fileExpired } from '#kernel/errors/catalogue.ts';
import { type CloudFile, isPublished } from '../catalogue/cloud-file.ts';
import { fileNotFound } from './object-bytes.ts';

/** Throws 404 for a file that nobody sees, and 410 for one that has expired. For those who may read it. */
export function assertShown(file: CloudFile): void {
  if (isPublished(file)) return;
  const { trashedAt, state } = file;
  throw trashedAt === undefined && state === undefined ? fileExpired() : fileNotFound();
}
