import type { Authenticate } from '#auth/authenticate.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import { longestExpiry } from '#kernel/config/longest-expiry.ts';
import { invalidBody } from '#kernel/errors/catalogue.ts';
import { count, dateTime, exactObject, named, type Schema } from '#kernel/json/schema.ts';
import type { Handler } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer, jsonContent } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { filterPattern, mediaTypeFilterProblem } from '../files/media-type.ts';
import { canVerify } from '../files/verified-type.ts';
import type { UploadLink, UploadLinks } from '../links/upload-links.ts';
import { longestLifetime } from './link.ts';
import type { OperationDefinition } from './operation.ts';

export interface UploadLinkDeps {
  readonly authenticate: Authenticate;
  readonly uploadLinks: UploadLinks;
  readonly maxUploadBytes: number;
  /** Address of a project's files. */
  readonly filesUrl: (projectSlug: string) => string;
}

const maxBodyBytes = 1024;
/** Most uploads that a link may be limited to. */
const mostTimes = 1_000_000;

const termsSchema: Readonly<Record<string, Schema>> = {
  expiresIn: { type: 'integer', minimum: 1, maximum: longestLifetime, description: 'Seconds' },
  maxBytes: { ...count, description: 'Largest file, in bytes' },
  type: {
    type: 'string',
    pattern: filterPattern.source,
    description: 'A media type, or the beginning of one up to its slash, such as `image/`',
  },
  verifyType: {
    type: 'boolean',
    description: 'Files whose bytes are not of the type are refused as well',
  },
  times: { type: 'integer', minimum: 1, maximum: mostTimes, description: 'Number of uploads' },
  fileExpiresIn: {
    type: 'integer',
    minimum: 1,
    maximum: longestExpiry,
    description: 'Seconds that a file stays, unless its uploader says less',
  },
};
const addressesSchema: Readonly<Record<string, Schema>> = {
  form: { type: 'string', format: 'uri', description: 'For a form' },
  resumable: { type: 'string', format: 'uri', description: 'The endpoint for tus' },
  direct: { type: 'string', format: 'uri', description: 'To plan an upload straight to the object store' },
  put: { type: 'string', description: 'For a plain body: replace `{name}` with the name of the file' },
};

export const uploadLink: OperationDefinition<UploadLinkDeps> = {
  summary: 'Create a link for uploads',
  description:
    'Anyone with one of the addresses can upload to the project until the link expires. The files belong to the account that made the link.',
  access: 'token',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  body: {
    description: 'What the link allows',
    content: jsonContent(
      exactObject(termsSchema, { optional: ['maxBytes', 'type', 'verifyType', 'times', 'fileExpiresIn'] }),
      {
        expiresIn: 600,
        maxBytes: 5_000_000,
        type: 'image/',
        verifyType: true,
        times: 1,
      },
    ),
  },
  answers: {
    200: jsonAnswer(
      'The link',
      named('UploadLink', exactObject({ ...addressesSchema, expiresAt: dateTime })),
    ),
  },
  errors: [...accountErrors, ...bodyErrors, 'invalid_slug', 'unavailable'],
  sample: (base) => curl({ url: `${base}/_f_/demo/upload-link`, body: { expiresIn: 600, times: 1 } }),
  handler: uploadLinkOperation,
};

/** POST /_f_/{project_slug}/upload-link: addresses that accept uploads without a token until the link expires. */
function uploadLinkOperation(deps: UploadLinkDeps): Handler {
  const { authenticate, uploadLinks, maxUploadBytes, filesUrl } = deps;
  return async (request) => {
    const projectSlug = readProjectSlug(request);
    const { userId: ownerId, bound } = await authenticate(request);
    requiredFor(bound, 'upload');
    // uploads by the link are bound by the rules of then
    const sender = bound && { user: bound.user };
    const { expiresIn, ...terms } = readTerms(await readJson(request, maxBodyBytes), maxUploadBytes);
    const expires = Math.ceil(Date.now() / 1000 + expiresIn);
    const link = `link=${await uploadLinks.sign({ ...terms, ownerId, projectSlug, expires, ...sender })}`;
    const base = filesUrl(projectSlug);
    return noStoreJson({
      form: `${base}/upload?${link}`,
      resumable: `${base}/resumable?${link}`,
      direct: `${base}/direct?${link}`,
      put: `${base}/{name}?${link}`,
      expiresAt: new Date(expires * 1000).toISOString(),
    });
  };
}

type LinkTerms = Pick<UploadLink, 'maxBytes' | 'type' | 'verifyType' | 'times' | 'fileExpiresIn'> & {
  readonly expiresIn: number;
};

function readTerms(body: unknown, maxUploadBytes: number): LinkTerms {
  const sent = (typeof body === 'object' ? body : null) ?? {};
  const {
    expiresIn,
    maxBytes = maxUploadBytes,
    type = '',
    verifyType,
    times = 0,
    fileExpiresIn,
    ...others
  } = sent as LinkTerms;
  const problems: string[] = [];
  const number = (name: string, value: unknown, least: number, most: number): void => {
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most)
      problems.push(`${name} should be a whole number from ${least} to ${most}`);
  };
  number('expiresIn', expiresIn, 1, longestLifetime);
  number('maxBytes', maxBytes, 0, Number.MAX_SAFE_INTEGER);
  if ('times' in sent) number('times', times, 1, mostTimes);
  if ('fileExpiresIn' in sent) number('fileExpiresIn', fileExpiresIn, 1, longestExpiry);
  if ('type' in sent) {
    const problem = typeof type === 'string' ? mediaTypeFilterProblem(type) : 'should be a string';
    if (problem !== null) problems.push(`type ${problem}`);
  }
  if ('verifyType' in sent) problems.push(...verifyTypeProblems(verifyType, type));
  // a misspelled limit would not limit anything
  const known = Object.keys(termsSchema).join(', ');
  for (const name of Object.keys(others).slice(0, 3))
    problems.push(`${JSON.stringify(name.slice(0, 80))} is not one of ${known}`);
  if (problems.length > 0) throw invalidBody(problems);
  const limits = { expiresIn, maxBytes, type: type.toLowerCase(), ...(verifyType && { verifyType }), times };
  return fileExpiresIn === undefined ? limits : { ...limits, fileExpiresIn };
}

function verifyTypeProblems(verifyType: unknown, type: unknown): string[] {
  if (typeof verifyType !== 'boolean') return ['verifyType should be true or false'];
  if (!verifyType || typeof type !== 'string') return [];
  if (type === '') return ['verifyType needs a type'];
  return canVerify(type.toLowerCase())
    ? []
    : [`verifyType: bytes do not tell whether they are of type ${type}`];
}
