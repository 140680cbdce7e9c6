import { type AccountOperation, accountRoutes } from '#auth/account-routes.ts';
import type { Authenticate } from '#auth/authenticate.ts';
import { noSuchProject } from '#kernel/errors/catalogue.ts';
import { type Grants, seesSpaces } from '#kernel/grants.ts';
import { longestName, slugPattern, slugProblem, spaceSlugProblem } from '#kernel/ids/slug.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { nameSchema } from '#kernel/json/name-schema.ts';
import {
  arrayOf,
  count,
  dateTime,
  exactObject,
  named,
  nullable,
  type Schema,
  string,
} from '#kernel/json/schema.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { storedField } from '#records/structure/structure-schema.ts';
import type { HttpRequest, HttpResponse, Route } from '#server/http/http-types.ts';
import {
  describeList,
  limitParameter,
  nextPage,
  partParameter,
  readListQuery,
  textParameter,
} from '#server/http/list-parameters.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import {
  type ApiOperation,
  accountErrors as errors,
  noStore as headers,
  jsonAnswer,
} from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { readPath } from '../input/space-reference.ts';
import type { FileRulesParts } from '../login/project-file-rules.ts';
import type { SpaceRulesParts } from '../login/space-rules.ts';
import { type SpaceFigures, SpaceSizes } from '../space/space-figures.ts';
import { type DropParts, dropField, dropProject, dropSpace } from './drop-space.ts';
import { fileRuleOperations } from './file-rule-routes.ts';
import { type ImagePresetParts, imagePresetOperations } from './image-preset-routes.ts';
import { type OidcRouteParts, oidcOperations } from './oidc-routes.ts';
import { ruleOperations, spaceOf } from './rule-routes.ts';
import { spaceJson, structureJson } from './space-json.ts';

type ProjectRouteParts = DropParts &
  SpaceRulesParts &
  FileRulesParts &
  OidcRouteParts &
  ImagePresetParts & { readonly authenticate: Authenticate };
type ProjectParts = ProjectRouteParts & { readonly sizes: SpaceSizes };

/** Routes by which an account lists and drops its projects and record spaces. */
export function projectRoutes(deps: ProjectRouteParts): Route[] {
  return accountRoutes('Projects', operations, { ...deps, sizes: new SpaceSizes(deps.store) });
}

const nextOf = 'The `next` of the previous page';
const projectParameters = {
  limit: limitParameter,
  after: textParameter(
    nextOf,
    { pattern: slugPattern.source },
    (text) => slugProblem('project', text) && 'should be the slug of a project',
  ),
};
const spaceParameters = {
  limit: limitParameter,
  after: textParameter(
    nextOf,
    nameSchema,
    (text) => spaceSlugProblem(text) && 'should be the slug of a record space',
  ),
  search: partParameter('Part of the slug or of the name; letter case is ignored', longestName),
};

const listedSpace = {
  slug: string,
  name: string,
  description: string,
  fields: arrayOf(storedField),
  createdAt: dateTime,
  records: { ...nullable(count), description: 'Counted on request; null while the store is unavailable' },
  bytes: { ...nullable(count), description: 'The size of all values as text, estimated from some records' },
  store: {
    ...nullable(exactObject({ name: string, available: { type: 'boolean' } })),
    description: 'The ClickHouse store of its records; null if there is only one store',
  },
} as const satisfies Readonly<Record<string, Schema>>;

const listedProject = {
  slug: string,
  createdAt: dateTime,
  spaces: { ...count, description: 'How many record spaces it has' },
};

const dropped = { 204: { description: 'Dropped', headers } } as const;

/** Makes a space for one sample. */
function makeSpace(base: string, space: string): string {
  const structure = { ...exampleStructure, projectSlug: 'shop', slug: space };
  return `${curl({ url: `${base}/shop/${space}`, headers: { structure }, body: [{ name: 'Ada', age: 36 }] })}\n`;
}

function page(name: string, key: string, item: Schema): ApiOperation['answers'] {
  const schema = named(name, exactObject({ [key]: arrayOf(item), next: nextPage }));
  return { 200: jsonAnswer('A page of the list', schema) };
}

const paths = {
  projects: '/_projects_',
  project: '/_projects_/:project',
  spaces: '/_projects_/:project/spaces',
  space: '/_projects_/:project/spaces/:space',
};

const operations: readonly AccountOperation<ProjectParts>[] = [
  {
    name: 'listProjects',
    method: 'GET',
    path: paths.projects,
    run: listProjects,
    needs: { grant: 'structure', touches: 'granted spaces', ofMembers: 'lists' },
    summary: 'List projects',
    description: 'All projects of the account, by slug. `next` is the `after` of the next page.',
    parameters: describeList(projectParameters),
    answers: page('ProjectPage', 'projects', named('Project', exactObject(listedProject))),
    errors: [...errors, 'invalid_condition'],
    sample: (base) => makeSpace(base, 'people') + curl({ url: `${base}/_projects_?limit=10` }),
  },
  {
    name: 'dropProject',
    method: 'DELETE',
    path: paths.project,
    needs: { grant: 'structure', touches: 'all spaces' },
    summary: 'Drop a project',
    description: 'With its record spaces and their records. It must have no files.',
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'project_not_found', 'project_has_files'],
    sample: (base) => makeSpace(base, 'people') + curl({ method: 'DELETE', url: `${base}/_projects_/shop` }),
    async run(deps, request, ownerId) {
      await dropProject(deps, { ownerId, slug: readProjectSlug(request) }, request.signal);
      return noContent;
    },
  },
  {
    name: 'listSpaces',
    method: 'GET',
    path: paths.spaces,
    run: listSpaces,
    needs: { grant: 'structure', touches: 'granted spaces', ofMembers: 'lists' },
    summary: 'List the record spaces of a project',
    description: 'By slug. `next` is the `after` of the next page.',
    parameters: describeList(spaceParameters),
    answers: page('SpacePage', 'spaces', named('ListedSpace', exactObject(listedSpace))),
    errors: [...errors, 'invalid_slug', 'invalid_condition', 'project_not_found'],
    sample: (base) => makeSpace(base, 'people') + curl({ url: `${base}/_projects_/shop/spaces?search=peo` }),
  },
  {
    name: 'getSpace',
    method: 'GET',
    path: paths.space,
    run: getSpace,
    needs: { grant: 'structure', touches: 'space', ofMembers: 'find' },
    summary: 'Get a record space',
    description: 'With its whole structure, in the form that the `structure` header takes.',
    answers: {
      200: jsonAnswer(
        'The record space',
        named(
          'SpaceWithStructure',
          exactObject({ ...listedSpace, structure: { type: 'object', additionalProperties: true } }),
        ),
      ),
    },
    errors: [...errors, 'invalid_slug', 'record_space_not_found'],
    sample: (base) => makeSpace(base, 'people') + curl({ url: `${base}/_projects_/shop/spaces/people` }),
  },
  {
    name: 'dropSpace',
    method: 'DELETE',
    path: paths.space,
    needs: { grant: 'structure', touches: 'space' },
    summary: 'Drop a record space',
    description: 'With its records. A space that is created again under the same slug starts empty.',
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'record_space_not_found'],
    sample: (base) =>
      makeSpace(base, 'guests') + curl({ method: 'DELETE', url: `${base}/_projects_/shop/spaces/guests` }),
    async run(deps, request, ownerId) {
      await dropSpace(deps, readSpace(request, ownerId), request.signal);
      return noContent;
    },
  },
  {
    name: 'dropField',
    method: 'DELETE',
    path: `${paths.space}/fields/:field`,
    needs: { grant: 'structure', touches: 'space' },
    summary: 'Drop a field of a record space',
    description:
      'With its values. A request whose structure still has the field creates it again, without values, unless it says `mutate: false`.',
    pathParameters: {
      field: { description: 'Slug or name of the field', schema: { type: 'string', minLength: 1 } },
    },
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'not_found'],
    sample: (base) =>
      makeSpace(base, 'hosts') +
      curl({ method: 'DELETE', url: `${base}/_projects_/shop/spaces/hosts/fields/age` }),
    async run(deps, request, ownerId) {
      const { field = '' } = request.params;
      await dropField(deps, { ...readSpace(request, ownerId), field }, request.signal);
      return noContent;
    },
  },
  ...ruleOperations,
  ...oidcOperations,
  ...fileRuleOperations,
  ...imagePresetOperations,
];

async function listProjects(
  { projects, catalogue }: ProjectParts,
  { query, signal }: HttpRequest,
  ownerId: string,
  grants?: Grants,
): Promise<HttpResponse> {
  const { limit, after } = readListQuery(projectParameters, query);
  const sees = seesSpaces(grants);
  const slugs = sees ? grants?.spaces : undefined;
  const granted = grants?.projects?.map((slug) => uuidV5(ownerId, slug));
  const part = { limit: limit + 1, after };
  const seen =
    slugs && (await catalogue.countByProject(ownerId, { ...part, slugs, projects: granted }, signal));
  const found = await projects.list(ownerId, { ...part, ids: seen ? [...seen.keys()] : granted }, signal);
  const page = found.slice(0, limit);
  const ids = page.map(({ id }) => id);
  const counts = seen ?? (await catalogue.countByProject(ownerId, { ids: sees ? ids : [] }, signal));
  return noStoreJson({
    projects: page.map(({ id, slug, createdAt }) => ({
      slug,
      createdAt: createdAt.toISOString(),
      spaces: counts.get(id) ?? 0,
    })),
    next: found.length > limit ? page.at(-1)?.slug : null,
  });
}

async function listSpaces(
  { projects, catalogue, sizes, store }: ProjectParts,
  request: HttpRequest,
  ownerId: string,
  grants?: Grants,
): Promise<HttpResponse> {
  const { query, signal } = request;
  const project = readProjectSlug(request);
  const { limit, after, search } = readListQuery(spaceParameters, query);
  const projectId = uuidV5(ownerId, project);
  const sees = seesSpaces(grants);
  const slugs = sees ? grants?.spaces : undefined;
  const found = sees
    ? await catalogue.list({ projectId, limit: limit + 1, after, search, slugs }, signal)
    : [];
  const projectExists = async () =>
    slugs === undefined
      ? (await projects.find(ownerId, project, signal)) !== null
      : (await catalogue.list({ projectId, limit: 1, slugs }, signal)).length > 0;
  if (found.length === 0 && !(await projectExists())) throw noSuchProject(project);
  const page = found.slice(0, limit);
  const ids = page.map(({ recordsId }) => recordsId);
  const figures = ids.length === 0 ? new Map<string, SpaceFigures>() : await sizes.of(ids, ownerId, signal);
  const { stores } = store.db;
  return noStoreJson({
    spaces: page.map((entry) => spaceJson(entry, stores, figures.get(entry.recordsId))),
    next: found.length > limit ? page.at(-1)?.structure.slug : null,
  });
}

async function getSpace(
  deps: ProjectParts,
  request: HttpRequest,
  ownerId: string,
  grants?: Grants,
): Promise<HttpResponse> {
  const { sizes, store } = deps;
  const entry = await spaceOf(deps, request, ownerId);
  const figures = await sizes.of([entry.recordsId], ownerId, request.signal);
  const space = spaceJson(entry, store.db.stores, figures.get(entry.recordsId));
  return noStoreJson({ ...space, structure: structureJson(entry, grants) });
}

const noContent: HttpResponse = { status: 204, headers: { 'cache-control': 'no-store' } };

function readSpace({ params }: HttpRequest, ownerId: string): { readonly id: string; readonly slug: string } {
  const { projectSlug, slug } = readPath(params);
  return { id: uuidV5(ownerId, projectSlug, slug), slug };
}
