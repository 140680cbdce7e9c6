import type { Authenticate } from '../../common/auth/authenticate.ts';
import { invalidBody } from '../../common/errors/catalogue.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { noStoreJson } from '../../common/http/no-store-json.ts';
import { readJson } from '../../common/http/read-json.ts';
import type { CloudFile } from '../../common/metadata/cloud-file.ts';
import type { CloudFiles } from '../../common/metadata/cloud-files.ts';
import type { FileLinks } from '../file-links.ts';
import { isStoredName } from '../file-name.ts';
import { fileNotFound } from '../object-bytes.ts';

export interface LinkDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findByName'>;
  readonly links: FileLinks;
  /** Address of the download route, whatever s3Link is. */
  readonly downloadUrl: (file: CloudFile) => string;
}

const maxBodyBytes = 1024;
/** As long as S3's own links may live. Seconds. */
export const longestLife = 7 * 24 * 3600;

/** POST /_f_/{project_slug}/{name}/link: an address that opens the file for a while, also for who has no token. */
export function linkOperation({ authenticate, cloudFiles, links, downloadUrl }: LinkDeps): Handler {
  return async (request) => {
    const { userId } = await authenticate(request);
    const lifetime = readLifetime(await readJson(request, maxBodyBytes));
    const { project, name = '' } = request.params;
    const file = isStoredName(name) ? await cloudFiles.findByName(name, request.signal) : null;
    if (file === null || file.projectSlug !== project || file.ownerId !== userId) throw fileNotFound();
    const expires = new Date(Math.ceil(Date.now() / 1000 + lifetime) * 1000);
    const link = `${downloadUrl(file)}?${await links.sign(file, expires)}`;
    return noStoreJson({ link, expiresAt: expires.toISOString() });
  };
}

/** Seconds. */
function readLifetime(body: unknown): number {
  const seconds: unknown =
    typeof body === 'object' && body !== null ? (body as { expiresIn?: unknown }).expiresIn : undefined;
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > longestLife) {
    throw invalidBody(`expiresIn should be a whole number of seconds from 1 to ${longestLife}`);
  }
  return seconds;
}
