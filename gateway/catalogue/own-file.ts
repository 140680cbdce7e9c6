import type { CloudFile } from './cloud-file.ts';
import type { CloudFiles } from './cloud-files.ts';

type OwnFile = Pick<CloudFile, 'ownerId' | 'projectSlug' | 'name'>;

/** A file by its name; null: there is none, or it is in another project. */
export async function findOwnFile(
  cloudFiles: Pick<CloudFiles, 'findByName'>,
  own: OwnFile,
  signal: AbortSignal,
): Promise<CloudFile | null> {
  return inProject(await cloudFiles.findByName(own.name, signal), own);
}

/**
 * The file that an upload became, whether or not it is published; null: there is none. Whoever uploads goes on from it, and
 * no second one is made.
 */
export async function findUploadedFile(
  cloudFiles: Pick<CloudFiles, 'findAny'>,
  own: OwnFile,
  signal: AbortSignal,
): Promise<CloudFile | null> {
  return inProject(await cloudFiles.findAny(own.name, signal), own);
}

function inProject(file: CloudFile | null, { ownerId, projectSlug }: OwnFile): CloudFile | null {
  return file?.ownerId === ownerId && file.projectSlug === projectSlug ? file : null;
}
