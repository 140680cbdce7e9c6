import type { AccountOperation } from '#auth/account-routes.ts';
import { recordSpaceNotFound } from '#kernel/errors/catalogue.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { arrayOf, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { families } from '#records/structure/space-auth.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { readPath } from '../input/space-reference.ts';
import {
  mostTriedRecords,
  type SpaceRulesParts,
  setRules,
  summarizeRules,
  tryRules,
} from '../login/space-rules.ts';
import type { CatalogueEntry } from '../space/catalogue-entry.ts';
import { longestRulesBody, rulesAnswer, rulesSchema } from './rules-schema.ts';

const errors = [...accountErrors, 'invalid_slug', 'record_space_not_found'] as const;
const path = '/_projects_/:project/spaces/:space/rules';
const needs = { grant: 'structure', touches: 'space' } as const;

const answer = rulesAnswer('SpaceRules', { all: 'records', nothing: 'nothing' });
const trial = named(
  'TriedRules',
  exactObject({
    user: nullable(string),
    records: arrayOf(
      exactObject({
        id: nullable(string),
        allowed: { type: 'boolean' },
        why: arrayOf(string),
        record: { ...nullable(rulesSchema), description: 'As the user would see it' },
      }),
    ),
  }),
);

const example = { find: { age: { gte: 18 } }, insert: true, readonly: ['age'] };

/** Makes a space with rules for one sample. */
function makeSpace(base: string): string {
  const structure = { ...exampleStructure, projectSlug: 'shop', slug: 'members' };
  const url = `${base}/shop/members`;
  const rules = `${base}/_projects_/shop/spaces/members/rules`;
  return `${curl({ url, headers: { structure }, body: [{ name: 'Ada', age: 36 }] })}\n${curl({ method: 'PUT', url: rules, body: example })}\n`;
}

/** The rules of a record space as its account sets, reads and tries them (docs/security.md#rules). */
export const ruleOperations: readonly AccountOperation<SpaceRulesParts>[] = [
  {
    name: 'getRules',
    method: 'GET',
    path,
    needs,
    summary: 'Get the rules of a record space',
    description: 'With warnings, and what strangers and logged-in users may do.',
    answers: { 200: jsonAnswer('The rules', answer) },
    errors: [...errors],
    sample: (base) => makeSpace(base) + curl({ url: `${base}/_projects_/shop/spaces/members/rules` }),
    async run(deps, request, ownerId) {
      const entry = await spaceOf(deps, request, ownerId);
      return noStoreJson(await summarizeRules(deps, entry, request.signal));
    },
  },
  {
    name: 'setRules',
    method: 'PUT',
    path,
    needs,
    summary: 'Set the rules of a record space',
    description:
      'They decide what requests with a publishable token, or for a user, may do. Once answered, they apply in every process. `null` removes them.',
    body: {
      description: 'Rules, or null',
      content: { 'application/json': { schema: nullable(rulesSchema), example } },
    },
    answers: { 200: jsonAnswer('The rules', answer) },
    errors: [...errors, ...bodyErrors, 'invalid_rules'],
    sample: (base) => makeSpace(base),
    async run(deps, request, ownerId) {
      const rules = await readJson(request, longestRulesBody);
      const entry = await spaceOf(deps, request, ownerId);
      return noStoreJson(await setRules(deps, entry, rules, request.signal));
    },
  },
  {
    name: 'tryRules',
    method: 'POST',
    path: `${path}/try`,
    needs,
    summary: 'Try the rules of a record space',
    description:
      'Which records a user may find, change or delete, or whether the user may insert one, and why. Nothing is changed. `rules` replaces the stored rules for this trial.',
    body: {
      description: 'The trial',
      content: {
        'application/json': {
          schema: exactObject(
            {
              operation: { type: 'string', enum: [...families] },
              user: { ...nullable(string), description: 'Id of a user; null: a stranger' },
              ids: {
                type: 'array',
                items: string,
                maxItems: mostTriedRecords,
                description: 'Ids of records; absent: the oldest 20',
              },
              record: { ...rulesSchema, description: 'The record to insert, or what an update sets' },
              rules: rulesSchema,
            },
            { optional: ['user', 'ids', 'record', 'rules'] },
          ),
          example: { operation: 'find', user: null, rules: example },
        },
      },
    },
    answers: { 200: jsonAnswer('The result', trial) },
    errors: [...errors, ...bodyErrors, 'invalid_rules', 'invalid_value', 'no_match'],
    sample: (base) =>
      makeSpace(base) +
      curl({
        method: 'POST',
        url: `${base}/_projects_/shop/spaces/members/rules/try`,
        body: { operation: 'find' },
      }),
    async run(deps, request, ownerId, grants) {
      const body = await readJson(request, longestRulesBody);
      const entry = await spaceOf(deps, request, ownerId);
      return noStoreJson(await tryRules(deps, entry, { body, grants }, request.signal));
    },
  },
];

/** The space of a path. Rejects with a 404. */
export async function spaceOf(
  { catalogue }: Pick<SpaceRulesParts, 'catalogue'>,
  { params, signal }: HttpRequest,
  ownerId: string,
): Promise<CatalogueEntry> {
  const { projectSlug, slug } = readPath(params);
  const entry = await catalogue.find(uuidV5(ownerId, projectSlug, slug), signal);
  if (entry === null) throw recordSpaceNotFound(slug, '');
  return entry;
}
