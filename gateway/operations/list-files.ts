import type { Authenticate } from '#auth/authenticate.ts';
import type { FileCondition } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import type { Projects } from '#catalogue/projects.ts';
import { invalidCondition, noSuchProject, notAllowed } from '#kernel/errors/catalogue.ts';
import { isUuid } from '#kernel/ids/is-uuid.ts';
import { arrayOf, count, exactObject, named } from '#kernel/json/schema.ts';
import type { Handler, QueryPairs } from '#server/http/http-types.ts';
import {
  choiceParameter,
  describeList,
  limitParameter,
  momentParameter,
  nextPage,
  partParameter,
  readListQuery,
  textParameter,
} from '#server/http/list-parameters.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { accountErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { CloudFile, HiddenState } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { FileCursor, FileQuery } from '../catalogue/file-list.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { cloudFile, cloudFileJson } from '../files/cloud-file-json.ts';
import { filterPattern, mediaTypeFilterProblem } from '../files/media-type.ts';
import { type OperationDefinition, uploadSample } from './operation.ts';

export interface ListFilesDeps {
  readonly authenticate: Authenticate;
  readonly projects: Pick<Projects, 'find'>;
  readonly cloudFiles: Pick<CloudFiles, 'list' | 'count' | 'findByDigest'>;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

const longestName = 200;
const afterPattern =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_([0-9a-f]{0,8000}))?$/;
const digestPattern = /^[0-9a-f]{64}$/;
const hiddenStates: readonly HiddenState[] = ['checking', 'refused'];
const badCursor = 'should be the next of another page';

const parameters = {
  limit: limitParameter,
  after: textParameter('The `next` of the page before', { pattern: afterPattern.source }, (text) =>
    afterPattern.test(text) ? null : badCursor,
  ),
  name: partParameter('Part of the original name; letter case is ignored', longestName),
  type: textParameter(
    'A media type, or the beginning of one up to its slash, such as `image/`',
    { pattern: filterPattern.source },
    mediaTypeFilterProblem,
  ),
  folder: textParameter('Only files of this folder', { format: 'uuid' }, (text) =>
    isUuid(text) ? null : 'should be the id of a folder',
  ),
  from: momentParameter('Uploaded on this day (UTC) or at this time, or later', 'first'),
  to: momentParameter('Uploaded on this day (UTC) or at this time, or earlier', 'last'),
  sort: choiceParameter(
    'By time of upload, or by the original name in lower case',
    ['createdAt', 'name'],
    'createdAt',
  ),
  order: choiceParameter('Ascending or descending', ['asc', 'desc'], 'desc'),
  sha256: textParameter(
    'Only the file with this SHA-256, or 404 (HEAD checks whether it exists). Only with DIGEST=sha-256',
    { pattern: digestPattern.source },
    (text) => (digestPattern.test(text) ? null : 'should be 64 hexadecimal digits in lower case'),
  ),
  hidden: textParameter(
    'Instead of the others: files that the virus scanner has yet to pass, or has refused. Not for users whom rules bind',
    { enum: hiddenStates },
    (text) =>
      hiddenStates.some((state) => state === text) ? null : `should be ${hiddenStates.join(' or ')}`,
  ),
  trash: choiceParameter('Whether to list the trash instead', ['true', 'false'], 'false'),
  count: choiceParameter('Whether to count all matching files', ['true', 'false'], 'false'),
};

const filePage = named(
  'FilePage',
  exactObject(
    {
      files: arrayOf(cloudFile),
      next: nextPage,
      count: { ...count, description: 'Number of matching files on all pages, if `count` is true' },
    },
    { optional: ['count'] },
  ),
);

export const listFiles: OperationDefinition<ListFilesDeps> = {
  summary: 'List the files of a project',
  description:
    'Newest first, unless `sort` or `order` says otherwise. `next` is the `after` of the following page.',
  access: 'token',
  needs: { grant: 'files:read', touches: 'beside spaces' },
  parameters: describeList(parameters),
  answers: { 200: jsonAnswer('A page of files', filePage) },
  errors: [
    ...accountErrors,
    'invalid_slug',
    'invalid_condition',
    'not_allowed',
    'project_not_found',
    'not_found',
  ],
  sample: (base) => `${uploadSample(base)}\n${curl({ url: `${base}/_f_/demo?limit=10&type=text/` })}`,
  handler: listFilesOperation,
};

/** GET /_f_/{project_slug}: a page of the files of a project, newest first unless the query says otherwise. */
function listFilesOperation({ authenticate, projects, cloudFiles, fileUrl }: ListFilesDeps): Handler {
  return async (request) => {
    const { userId: ownerId, bound } = await authenticate(request);
    const listed = requiredFor(bound, 'list');
    const { signal } = request;
    const projectSlug = readProjectSlug(request);
    const { counts, sha256, ...filter } = readQuery(request.query);
    const isTrash = filter.hidden === 'trashed';
    if (filter.hidden !== undefined && !isTrash && bound !== undefined)
      throw notAllowed('Rules of files show nobody what the virus scanner holds back');
    const condition = isTrash ? both(listed, requiredFor(bound, 'delete')) : listed;
    if (sha256 !== undefined && filter.hidden !== undefined)
      throw invalidCondition(['sha256 does not find files in the trash, or files that are not published']);
    if (sha256 !== undefined) {
      const file = await cloudFiles.findByDigest({ ownerId, projectSlug, sha256, condition }, signal);
      if (file === null) throw fileNotFound();
      return noStoreJson({ files: [cloudFileJson(file, fileUrl(file))], next: null });
    }
    const query = { ...filter, ownerId, projectSlug, condition };
    // read one more than the limit, to know whether there is another page
    const [found, count] = await Promise.all([
      cloudFiles.list({ ...query, limit: query.limit + 1 }, signal),
      counts ? cloudFiles.count(query, signal) : undefined,
    ]);
    if (found.length === 0 && (await projects.find(ownerId, projectSlug, signal)) === null) {
      throw noSuchProject(projectSlug);
    }
    const files = found.slice(0, query.limit);
    const last = files.at(-1);
    return noStoreJson({
      files: files.map((file) => cloudFileJson(file, fileUrl(file))),
      next: last === undefined || found.length <= query.limit ? null : cursorOf(last, query),
      count,
    });
  };
}

/** Only who may delete a file sees it in the trash. */
function both(...conditions: readonly (FileCondition | undefined)[]): FileCondition | undefined {
  const branches = conditions.filter((condition) => condition !== undefined);
  return branches.length === 0 ? undefined : { group: 'all', branches };
}

type ListFilesQuery = Omit<FileQuery, 'ownerId' | 'projectSlug' | 'condition'> & {
  readonly counts: boolean;
  readonly sha256: string | undefined;
};

function readQuery(pairs: QueryPairs): ListFilesQuery {
  const {
    after: cursor,
    type,
    sort,
    order,
    count,
    trash,
    hidden: state,
    ...read
  } = readListQuery(parameters, pairs);
  const byName = sort === 'name';
  const after = cursor === undefined ? undefined : readCursor(cursor, byName);
  if (cursor !== undefined && after === undefined) throw invalidCondition([`after ${badCursor}`]);
  const ascending = order === 'asc';
  if (trash === 'true' && state !== undefined)
    throw invalidCondition(['trash and hidden exclude each other']);
  const hidden = trash === 'true' ? ('trashed' as const) : hiddenStates.find((one) => one === state);
  return { ...read, type: type?.toLowerCase(), byName, ascending, after, hidden, counts: count === 'true' };
}

/** The cursor contains the name only if the order needs it. */
function cursorOf({ createdAt, id, originalName }: CloudFile, { byName }: Pick<FileQuery, 'byName'>): string {
  const place = `${createdAt.toISOString()}_${id}`;
  return byName ? `${place}_${Buffer.from(originalName).toString('hex')}` : place;
}

function readCursor(text: string, byName: boolean): FileCursor | undefined {
  const [, time = '', id = '', name] = afterPattern.exec(text) ?? [];
  const createdAt = new Date(time);
  if (Number.isNaN(createdAt.getTime()) || (name !== undefined) !== byName) return undefined;
  return { createdAt, id, originalName: Buffer.from(name ?? '', 'hex').toString() };
}
