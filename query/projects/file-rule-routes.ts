import type { AccountOperation } from '#auth/account-routes.ts';
import { fileOperations } from '#catalogue/file-rules/file-rules.ts';
import type { Project } from '#catalogue/projects.ts';
import { noSuchProject } from '#kernel/errors/catalogue.ts';
import { arrayOf, count, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import {
  type FileRulesParts,
  mostTriedFiles,
  setFileRules,
  summarizeFileRules,
  tryFileRules,
} from '../login/project-file-rules.ts';
import { longestRulesBody, rulesAnswer, rulesSchema } from './rules-schema.ts';

const path = '/_projects_/:project/files/rules';
/** Rules open the files of the whole project, so a token for some of its record spaces does not set them. */
const needs = { grant: 'structure', touches: 'all spaces' } as const;
const errors = [...accountErrors, 'invalid_slug', 'project_not_found'] as const;

const answer = rulesAnswer('FileRules', { all: 'files', nothing: 'no files' });
const trial = named(
  'TriedFileRules',
  exactObject({
    user: nullable(string),
    files: arrayOf(
      exactObject({ name: nullable(string), allowed: { type: 'boolean' }, why: arrayOf(string) }),
    ),
  }),
);

const own = { owner: '$user.id' };
const example = { upload: own, read: own, list: own, delete: own, maxBytes: 5_000_000, types: ['image/'] };

const at = (base: string): string => `${base}/_projects_/shop/files/rules`;
/** Sets rules for one sample. */
const setThem = (base: string): string => curl({ method: 'PUT', url: at(base), body: example });

/** The rules of a project's files as its account sets, reads and tries them (docs/security.md#rules-of-files). */
export const fileRuleOperations: readonly AccountOperation<FileRulesParts>[] = [
  {
    name: 'getFileRules',
    method: 'GET',
    path,
    needs,
    summary: 'Get the rules of a project’s files',
    description: 'With warnings, and what strangers and logged-in users may do.',
    answers: { 200: jsonAnswer('The rules', answer) },
    errors: [...errors],
    sample: (base) => `${setThem(base)}\n${curl({ url: at(base) })}`,
    async run(deps, request, ownerId) {
      const project = await projectOf(deps, request, ownerId);
      const given = project.fileRules?.given ?? null;
      return noStoreJson(await summarizeFileRules(deps, { ...project, given }, request.signal));
    },
  },
  {
    name: 'setFileRules',
    method: 'PUT',
    path,
    needs,
    summary: 'Set the rules of a project’s files',
    description:
      'They decide what requests with a publishable token, or for a user, may do with files. Once answered, they apply in every process. `null` removes them. The project is created if it does not exist.',
    body: {
      description: 'Rules, or null',
      content: { 'application/json': { schema: nullable(rulesSchema), example } },
    },
    answers: { 200: jsonAnswer('The rules', answer) },
    errors: [...errors, ...bodyErrors, 'invalid_rules', 'too_many_projects'],
    sample: setThem,
    async run(deps, request, ownerId) {
      const rules = await readJson(request, longestRulesBody);
      const slug = readProjectSlug(request);
      const { projects } = deps;
      const project =
        rules === null
          ? await projectOf(deps, request, ownerId)
          : await projects.ensure(ownerId, slug, request.signal);
      return noStoreJson(await setFileRules(deps, project, rules, request.signal));
    },
  },
  {
    name: 'tryFileRules',
    method: 'POST',
    path: `${path}/try`,
    needs,
    summary: 'Try the rules of a project’s files',
    description:
      'Which files a user may read, list or delete, or whether the user may upload one, and why. Nothing is changed. `rules` replaces the stored rules for this trial.',
    body: {
      description: 'The trial',
      content: {
        'application/json': {
          schema: exactObject(
            {
              operation: { type: 'string', enum: [...fileOperations] },
              user: { ...nullable(string), description: 'Id of a user; null: a stranger' },
              names: {
                type: 'array',
                items: string,
                maxItems: mostTriedFiles,
                description: 'The `name` of each CloudFile; absent: the newest 20',
              },
              file: {
                ...exactObject({ originalName: string, contentType: string, size: count }),
                description: 'The file to upload',
              },
              rules: rulesSchema,
            },
            { optional: ['user', 'names', 'file', 'rules'] },
          ),
          example: { operation: 'list', user: null, rules: example },
        },
      },
    },
    answers: { 200: jsonAnswer('The result', trial) },
    errors: [...errors, ...bodyErrors, 'invalid_rules', 'no_match'],
    sample: (base) =>
      `${setThem(base)}\n${curl({ method: 'POST', url: `${at(base)}/try`, body: { operation: 'list' } })}`,
    async run(deps, request, ownerId, grants) {
      const body = await readJson(request, longestRulesBody);
      const project = await projectOf(deps, request, ownerId);
      return noStoreJson(await tryFileRules(deps, project, { body, grants }, request.signal));
    },
  },
];

async function projectOf(
  { projects }: Pick<FileRulesParts, 'projects'>,
  request: HttpRequest,
  ownerId: string,
): Promise<Project> {
  const slug = readProjectSlug(request);
  const project = await projects.find(ownerId, slug, request.signal);
  if (project === null) throw noSuchProject(slug);
  return project;
}
