import type { Authenticate } from '#auth/authenticate.ts';
import { touchable } from '#catalogue/file-rules/touchable.ts';
import { invalidBody } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { dateTime, exactObject, named } from '#kernel/json/schema.ts';
import type { Handler } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer, jsonContent } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { assertShown } from '../download/assert-shown.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import type { FileLinks } from '../links/file-links.ts';
import { fileName, nameOfUpload, type OperationDefinition } from './operation.ts';

export interface LinkDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findAny'>;
  readonly links: FileLinks;
  /** Address of the download route, even if s3Link is a different address. */
  readonly downloadUrl: (file: CloudFile) => string;
}

const maxBodyBytes = 1024;
/** The longest lifetime of S3's presigned links. Seconds. */
export const longestLifetime = 7 * 24 * 3600;

export const link: OperationDefinition<LinkDeps> = {
  summary: 'Create an expiring link',
  description: 'Anyone with the link can read this file until it expires, even with FILE_LINKS=private.',
  access: 'token',
  needs: { grant: 'files:read', touches: 'beside spaces' },
  pathParameters: fileName,
  body: {
    description: 'How long the link is valid',
    content: jsonContent(
      {
        type: 'object',
        required: ['expiresIn'],
        properties: {
          expiresIn: { type: 'integer', minimum: 1, maximum: longestLifetime, description: 'Seconds' },
        },
      },
      { expiresIn: 3600 },
    ),
  },
  answers: {
    200: jsonAnswer(
      'The link',
      named('Link', exactObject({ link: { type: 'string', format: 'uri' }, expiresAt: dateTime })),
    ),
  },
  errors: [...accountErrors, ...bodyErrors, 'not_found', 'file_expired'],
  sample: (base) =>
    nameOfUpload(base) + curl({ url: `${base}/_f_/demo/$NAME/link`, body: { expiresIn: 3600 } }),
  handler: linkOperation,
};

/** POST /_f_/{project_slug}/{name}/link: an address that opens the file without a token until it expires. */
export function linkOperation({ authenticate, cloudFiles, links, downloadUrl }: LinkDeps): Handler {
  return async (request) => {
    const { userId, bound } = await authenticate(request);
    const mayRead = touchable(bound, 'read');
    const lifetime = readLifetime(await readJson(request, maxBodyBytes));
    const { project, name = '' } = request.params;
    const file = isStoredName(name) ? await cloudFiles.findAny(name, request.signal) : null;
    if (file === null || file.projectSlug !== project || file.ownerId !== userId || !mayRead(file))
      throw fileNotFound();
    assertShown(file);
    const expires = new Date(Math.ceil(Date.now() / 1000 + lifetime) * 1000);
    const link = `${downloadUrl(file)}?${await links.sign(file, expires)}`;
    return noStoreJson({ link, expiresAt: expires.toISOString() });
  };
}

/** Seconds. */
function readLifetime(body: unknown): number {
  const seconds: unknown =
    typeof body === 'object' && body !== null ? (body as { expiresIn?: unknown }).expiresIn : undefined;
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > longestLifetime) {
    throw invalidBody(`expiresIn should be a whole number of seconds from 1 to ${longestLifetime}`);
  }
  return seconds;
}
