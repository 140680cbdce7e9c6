import type { Authenticate } from '#auth/authenticate.ts';
import type { BoundSender, FileCondition } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor, touchable } from '#catalogue/file-rules/touchable.ts';
import { invalidBody, notAllowed } from '#kernel/errors/catalogue.ts';
import { isUuid } from '#kernel/ids/is-uuid.ts';
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
import { noSuchFolder } from '../folders/folder-places.ts';
import { isKnownFolder } from '../folders/known-folder.ts';
import type { FileLinks } from '../links/file-links.ts';
import { fileName, nameOfUpload, type OperationDefinition } from './operation.ts';

export interface LinkDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findAny' | 'ownerOfFolder' | 'list'>;
  readonly links: FileLinks;
  /** Address of the download route, even if s3Link is a different address. */
  readonly downloadUrl: (file: CloudFile) => string;
  /** Base address of a project's files. */
  readonly filesUrl: (projectSlug: string) => string;
}

const maxBodyBytes = 1024;
/** The longest lifetime of S3's presigned links. Seconds. */
export const longestLifetime = 7 * 24 * 3600;

export const link: OperationDefinition<LinkDeps> = {
  summary: 'Create an expiring link',
  description:
    'Anyone with the link can read the file until it expires, even with FILE_LINKS=private. The link of a folder ends in a slash: the path of any file follows, also of one that is added later.',
  access: 'token',
  needs: { grant: 'files:read', touches: 'beside spaces' },
  pathParameters: {
    name: { ...fileName.name, description: 'The `name` of a CloudFile, or its `folder`' },
  },
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
export function linkOperation({ authenticate, cloudFiles, links, downloadUrl, filesUrl }: LinkDeps): Handler {
  return async (request) => {
    const { userId, bound } = await authenticate(request);
    const mayRead = touchable(bound, 'read');
    const lifetime = readLifetime(await readJson(request, maxBodyBytes));
    const { project = '', name = '' } = request.params;
    const expires = new Date(Math.ceil(Date.now() / 1000 + lifetime) * 1000);
    if (isUuid(name)) {
      const folder = { projectSlug: project, folder: name };
      if (!(await isKnownFolder(cloudFiles, { ...folder, ownerId: userId }, bound, request.signal)))
        throw noSuchFolder();
      assertMayShare(bound);
      const link = `${filesUrl(project)}/${name}/${await links.signFolder(folder, expires)}/`;
      return noStoreJson({ link, expiresAt: expires.toISOString() });
    }
    const file = isStoredName(name) ? await cloudFiles.findAny(name, request.signal) : null;
    if (file === null || file.projectSlug !== project || file.ownerId !== userId || !mayRead(file))
      throw fileNotFound();
    assertShown(file);
    const link = `${downloadUrl(file)}?${await links.sign(file, expires)}`;
    return noStoreJson({ link, expiresAt: expires.toISOString() });
  };
}

/** A link opens files that the folder gets later, too. Throws 403 unless the rules let the sender read all files. */
function assertMayShare(bound: BoundSender | undefined): void {
  if (bound === undefined) return;
  const condition = requiredFor(bound, 'read') as FileCondition;
  const isAll = 'group' in condition && condition.group === 'all' && condition.branches.length === 0;
  if (!isAll) throw notAllowed("The rules of the project's files allow links to single files only");
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
