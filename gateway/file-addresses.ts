import type { Config } from '../common/config/read-config.ts';
import type { CloudFile } from '../common/metadata/cloud-file.ts';

/** Where a file is read. */
export interface FileAddresses {
  /** Of all files of a project. */
  filesUrl(projectSlug: string): string;
  /** From us. */
  downloadUrl(file: CloudFile): string;
  /** As its CloudFile says: from us, from the bucket, or from a CDN before it. */
  fileUrl(file: CloudFile): string;
}

/**
 * @param args.baseUrl of the process, without trailing slash
 * @param args.objectUrl an object's own address; null where it has none
 */
export function fileAddresses(args: {
  readonly config: Pick<Config, 'publicFilesUrl' | 's3'>;
  readonly baseUrl: () => string;
  readonly objectUrl: ((key: string) => string) | null;
}): FileAddresses {
  const { config, baseUrl, objectUrl } = args;
  const filesUrl = (projectSlug: string): string => `${baseUrl()}/_f_/${projectSlug}`;
  const downloadUrl = ({ projectSlug, name }: CloudFile): string =>
    `${filesUrl(projectSlug)}/${encodeURIComponent(name)}`;
  return {
    filesUrl,
    downloadUrl,
    fileUrl(file) {
      if (config.publicFilesUrl !== undefined) {
        return `${config.publicFilesUrl}/${file.objectKey.split('/').map(encodeURIComponent).join('/')}`;
      }
      // elsewhere an address of the bucket is 403 without a key of it
      return config.s3?.publicBucket === true && objectUrl !== null
        ? objectUrl(file.objectKey)
        : downloadUrl(file);
    },
  };
}
