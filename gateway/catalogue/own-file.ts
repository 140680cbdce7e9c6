import type { CloudFile } from './cloud-file.ts';
import type { CloudFiles } from './cloud-files.ts';

/** A file by its name; null: there is none, or it is in another project. */
export async function findOwnFile(
  cloudFiles: Pick<CloudFiles, 'findByName'>,
  { ownerId, projectSlug, name }: Pick<CloudFile, 'ownerId' | 'projectSlug' | 'name'>,
  signal: AbortSignal,
): Promise<CloudFile | null> {
  const file = await cloudFiles.findByName(name, signal);
  return file?.ownerId === ownerId && file.projectSlug === projectSlug ? file : null;
}

/**
 * The file that an upload became, whether or not it is published; null: there is none. Whoever uploads goes on from it, and
 * no second one is made.
 */
export async function findUploadedFile(
  cloudFiles: Pick<CloudFiles, 'findAny'>,
  { ownerId, projectSlug, name }: Pick<CloudFile, 'ownerId' | 'projectSlug' | 'name'>,
  signal: AbortSignal,
): Promise<CloudFile | null> {
  const file = await cloudFiles.findAny(name, signal);
  return file?.ownerId === ownerId && file.projectSlug === projectSlug ? file : null;
}
