import { limitParameter, nextPage, queryParameter } from '../../common/http/list-schema.ts';
import { longestName, slugPattern } from '../../common/metadata/slug.ts';
import {
  type ApiOperation,
  accountErrors as errors,
  noStore as headers,
  jsonContent,
} from '../../common/openapi/api-operation.ts';
import { curl } from '../../common/openapi/curl.ts';
import { nameSchema } from '../../common/openapi/name-schema.ts';
import {
  boolean,
  count,
  dateTime,
  exactObject,
  named,
  type Schema,
  string,
} from '../../common/openapi/schema.ts';
import { exampleStructure } from '../structure/example-structure.ts';
import { fieldTypes } from '../structure/field.ts';

const tag = 'Projects';
const projectSlug: Schema = { type: 'string', pattern: slugPattern.source };

const field = named(
  'StoredField',
  exactObject(
    {
      ...{ name: string, slug: string, type: { type: 'string', enum: fieldTypes } },
      ...{ required: boolean, unique: boolean, hashed: boolean, description: string, comment: string },
      defaultValue: { description: 'Of the type of the field' },
    },
    { optional: ['defaultValue'] },
  ),
);

const listedSpace = {
  slug: string,
  name: string,
  description: string,
  fields: { type: 'array', items: field },
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

/** How the description of the API shows what an account may see and drop of its projects and record spaces. */
export const projectDescriptions = {
  listProjects: {
    id: 'listProjects',
    tag,
    summary: 'List projects',
    description: 'Of the account, by their slugs. `next` is the `after` of the following page.',
    access: 'token',
    parameters: [limitParameter, queryParameter('after', 'The `next` of the page before', projectSlug)],
    answers: {
      200: {
        description: 'A page of them',
        headers,
        content: jsonContent(
          named(
            'ProjectPage',
            exactObject({
              projects: {
                type: 'array',
                items: named(
                  'Project',
                  exactObject({
                    slug: string,
                    createdAt: dateTime,
                    spaces: { ...count, description: 'How many record spaces it has' },
                  }),
                ),
              },
              next: nextPage,
            }),
          ),
        ),
      },
    },
    errors: [...errors, 'invalid_condition'],
    sample: (base) => making(base, 'people') + curl({ url: `${base}/_projects_?limit=10` }),
  },
  dropProject: {
    id: 'dropProject',
    tag,
    summary: 'Drop a project',
    description: 'With its record spaces and their records. It must have no files.',
    access: 'token',
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'project_not_found', 'project_has_files'],
    sample: (base) => making(base, 'people') + curl({ method: 'DELETE', url: `${base}/_projects_/shop` }),
  },
  listSpaces: {
    id: 'listSpaces',
    tag,
    summary: 'List the record spaces of a project',
    description: 'By their slugs. `next` is the `after` of the following page.',
    access: 'token',
    parameters: [
      limitParameter,
      queryParameter('after', 'The `next` of the page before', nameSchema),
      queryParameter('search', 'Part of the slug or of the name; letter case is ignored', {
        ...string,
        minLength: 1,
        maxLength: longestName,
      }),
    ],
    answers: {
      200: {
        description: 'A page of them',
        headers,
        content: jsonContent(
          named(
            'SpacePage',
            exactObject({
              spaces: { type: 'array', items: named('ListedSpace', exactObject(listedSpace)) },
              next: nextPage,
            }),
          ),
        ),
      },
    },
    errors: [...errors, 'invalid_slug', 'invalid_condition', 'project_not_found'],
    sample: (base) => making(base, 'people') + curl({ url: `${base}/_projects_/shop/spaces?search=peo` }),
  },
  getSpace: {
    id: 'getSpace',
    tag,
    summary: 'Get a record space',
    description: 'With its whole structure, in the form that the `structure` header takes.',
    access: 'token',
    answers: {
      200: {
        description: 'The record space',
        headers,
        content: jsonContent(
          named(
            'SpaceWithStructure',
            exactObject({
              ...listedSpace,
              structure: { type: 'object', additionalProperties: true },
            }),
          ),
        ),
      },
    },
    errors: [...errors, 'invalid_slug', 'record_space_not_found'],
    sample: (base) => making(base, 'people') + curl({ url: `${base}/_projects_/shop/spaces/people` }),
  },
  dropSpace: {
    id: 'dropSpace',
    tag,
    summary: 'Drop a record space',
    description: 'With its records. A space that is created again under the same slug starts empty.',
    access: 'token',
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'record_space_not_found'],
    sample: (base) =>
      making(base, 'guests') + curl({ method: 'DELETE', url: `${base}/_projects_/shop/spaces/guests` }),
  },
  dropField: {
    id: 'dropField',
    tag,
    summary: 'Drop a field of a record space',
    description:
      'With its values. A request whose structure still has the field creates it again, without values, unless it says `mutate: false`.',
    access: 'token',
    pathParameters: {
      field: { description: 'Slug or name of the field', schema: { type: 'string', minLength: 1 } },
    },
    answers: dropped,
    errors: [...errors, 'invalid_slug', 'not_found'],
    sample: (base) =>
      making(base, 'hosts') +
      curl({ method: 'DELETE', url: `${base}/_projects_/shop/spaces/hosts/fields/age` }),
  },
} as const satisfies Readonly<Record<string, ApiOperation>>;
