import type { Config } from '#kernel/config/read-config.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';

/** Addresses where files are read. */
export interface FileAddresses {
  /** Base address of a project's files. */
  filesUrl(projectSlug: string): string;
  /** Address of a file at this gateway. */
  downloadUrl(file: CloudFile): string;
  /** The `s3Link` of a file: at this gateway, in the bucket, or at a CDN in front of it. */
  fileUrl(file: CloudFile): string;
}

/**
 * @param args.baseUrl of the process, without trailing slash
 * @param args.objectUrl an object's own address; null: objects have none
 */
export function fileAddresses(args: {
  readonly config: Pick<Config, 'publicFilesUrl' | 's3'>;
  readonly baseUrl: () => string;
  readonly objectUrl: ((key: string) => string) | null;
}): FileAddresses {
  const { config, baseUrl, objectUrl } = args;
  const filesUrl = (projectSlug: string): string => `${baseUrl()}/_f_/${projectSlug}`;
  const downloadUrl = ({ projectSlug, name, folder, path }: CloudFile): string =>
    folder === undefined || path === undefined
      ? `${filesUrl(projectSlug)}/${encodeURIComponent(name)}`
      : `${filesUrl(projectSlug)}/${folder}/${path.split('/').map(encodeURIComponent).join('/')}`;
  return {
    filesUrl,
    downloadUrl,
    fileUrl(file) {
      // relative links only work where names are as they were given
      if (file.folder !== undefined) return downloadUrl(file);
      if (config.publicFilesUrl !== undefined) {
        return `${config.publicFilesUrl}/${file.objectKey.split('/').map(encodeURIComponent).join('/')}`;
      }
      // an object in a private bucket is a 403 without credentials
      return config.s3?.publicBucket === true && objectUrl !== null
        ? objectUrl(file.objectKey)
        : downloadUrl(file);
    },
  };
}
