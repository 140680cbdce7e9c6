import type { Config } from '#kernel/config/read-config.ts';
import { fileKey } from '#objects/file-key.ts';

/** The base of the addresses of a project's files, to which a name is added: that of `s3Link` at the gateway. */
export type FileLinks = (place: { readonly ownerId: string; readonly projectSlug: string }) => string;

export async function fileLinks(args: {
  readonly config: Pick<Config, 'publicFilesUrl' | 's3'>;
  readonly baseUrl: () => string;
  readonly deploymentId: string;
}): Promise<FileLinks> {
  const { config, baseUrl, deploymentId } = args;
  const { publicFilesUrl, s3 } = config;
  const keyOf: FileLinks = (place) => fileKey({ deploymentId, ...place, name: '' });
  // ids and slugs need no escapes
  if (publicFilesUrl !== undefined) return (place) => `${publicFilesUrl}/${keyOf(place)}`;
  if (s3?.publicBucket === true) {
    const { s3ObjectUrls } = await import('#objects/s3/s3-address.ts');
    const urlOf = s3ObjectUrls(s3);
    return (place) => urlOf(keyOf(place));
  }
  return ({ projectSlug }) => `${baseUrl()}/_f_/${projectSlug}/`;
}
