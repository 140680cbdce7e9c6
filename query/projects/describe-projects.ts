import {
  describeList,
  limitParameter,
  nextPage,
  partParameter,
  textParameter,
} from '../../common/http/list-parameters.ts';
import { longestName, slugPattern, slugProblem, spaceSlugProblem } from '../../common/metadata/slug.ts';
import {
  type ApiOperation,
  accountErrors as errors,
  noStore as headers,
  jsonAnswer,
} from '../../common/openapi/api-operation.ts';
import { curl } from '../../common/openapi/curl.ts';
import { nameSchema } from '../../common/openapi/name-schema.ts';
import {
  arrayOf,
  count,
  dateTime,
  exactObject,
  named,
  type Schema,
  string,
} from '../../common/openapi/schema.ts';
import { exampleStructure } from '../structure/example-structure.ts';
import { storedField } from '../structure/structure-schema.ts';

const shared = { tag: 'Projects', access: 'token' } as const;
const nextOf = 'The `next` of the page before';

export const projectParameters = {
  limit: limitParameter,
  after: textParameter(
    nextOf,
    { pattern: slugPattern.source },
    (text) => slugProblem('project', text) && 'should be the slug of a project',
  ),
};

export const spaceParameters = {
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
  records: { ...count, description: 'Counted when it is asked for' },
  bytes: { ...count, description: 'What the values take as text, by the size of some records' },
} as const satisfies Readonly<Record<string, Schema>>;

const dropped = { 204: { description: 'It is dropped', headers } } as const;

/** A space of its own: other samples use theirs. */
function making(base: string, space: string): string {
  const structure = { ...exampleStructure, projectSlug: 'shop', slug: space };
  return `${curl({ url: `${base}/shop/${space}`, headers: { structure }, body: [{ name: 'Ada', age: 36 }] })}\n`;
}

function page(name: string, key: string, item: Schema): ApiOperation['answers'] {
  const schema = named(name, exactObject({ [key]: arrayOf(item), next: nextPage }));
  return { 200: jsonAnswer('A page of them', schema) };
}

/** How the description of the API shows what an account may see and drop of its projects and record spaces. */
export const projectDescriptions = {
  listProjects: {
    ...shared,
    summary: 'List projects',
    description: 'Of the account, by their slugs. `next` is the `after` of the following page.',
    parameters: describeList(projectParameters),
    answers: page(
      'ProjectPage',
      'projects',
      named(
        'Project',
        exactObject({
          slug: string,
          createdAt: dateTime,
          spaces: { ...count, description: 'How many record spaces it has' },
        }),
      ),
    ),
    errors: [...errors, 'invalid_condition'],
    sample: (base) => making(base, 'people') + curl({ url: `${base}/_projects_?limit=10` }),
  },
  dropProject: {
    ...shared,
    summary: 'Drop a project',
    description: 'With its record spaces and their records. It must have no files.',
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'project_not_found', 'project_has_files'],
    sample: (base) => making(base, 'people') + curl({ method: 'DELETE', url: `${base}/_projects_/shop` }),
  },
  listSpaces: {
    ...shared,
    summary: 'List the record spaces of a project',
    description: 'By their slugs. `next` is the `after` of the following page.',
    parameters: describeList(spaceParameters),
    answers: page('SpacePage', 'spaces', named('ListedSpace', exactObject(listedSpace))),
    errors: [...errors, 'invalid_slug', 'invalid_condition', 'project_not_found'],
    sample: (base) => making(base, 'people') + curl({ url: `${base}/_projects_/shop/spaces?search=peo` }),
  },
  getSpace: {
    ...shared,
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
    sample: (base) => making(base, 'people') + curl({ url: `${base}/_projects_/shop/spaces/people` }),
  },
  dropSpace: {
    ...shared,
    summary: 'Drop a record space',
    description: 'With its records. A space that is created again under the same slug starts empty.',
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'record_space_not_found'],
    sample: (base) =>
      making(base, 'guests') + curl({ method: 'DELETE', url: `${base}/_projects_/shop/spaces/guests` }),
  },
  dropField: {
    ...shared,
    summary: 'Drop a field of a record space',
    description:
      'With its values. A request whose structure still has the field creates it again, without values, unless it says `mutate: false`.',
    pathParameters: {
      field: { description: 'Slug or name of the field', schema: { type: 'string', minLength: 1 } },
    },
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'not_found'],
    sample: (base) =>
      making(base, 'hosts') +
      curl({ method: 'DELETE', url: `${base}/_projects_/shop/spaces/hosts/fields/age` }),
  },
} as const satisfies Readonly<Record<string, Omit<ApiOperation, 'id'>>>;
