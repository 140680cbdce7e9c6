import type { QueryCall } from '../services/query-harness.ts';
import { shownText } from './model-field.ts';
import type { ModelSpace } from './model-space.ts';
import type { SentField, SentStructure } from './plan-structures.ts';
import type { BodyPlan, ConditionPlan, OptionsPlan, StepPlan, ValuePlan } from './sequence-plan.ts';
import { at, misfit, misfitText, pooledValue, queryText } from './value-pools.ts';

/** Where a step happens. */
export interface StepScene {
  readonly project: string;
  readonly slug: string;
  readonly owner: string;
  readonly structure: SentStructure;
  /** Undefined as long as it does not exist. */
  readonly space: ModelSpace | undefined;
  /** Login tokens that were issued so far. */
  readonly tokens: readonly string[];
}

/** The request that a step of a plan stands for; null for `forget`, which is none. */
export function buildCall(step: StepPlan, scene: StepScene): QueryCall | null {
  const { operation, bodies } = step;
  const { project, slug, owner, structure, space } = scene;
  const path = `/${project}/${slug}`;
  const text = structure.text(project, slug);
  const headers = { ...(step.headers === null ? {} : at(oddHeaders, step.headers)) };
  const options = step.options === null ? undefined : optionsText(step.options, structure.fields);
  const withOptions = options === undefined ? headers : { ...headers, options };
  const sent = { owner, headers, ...('use-pre-stored-structure' in headers ? {} : { structure: text }) };
  const conditions = step.conditions.map((plan) => condition(plan, structure.fields, space, step.record));
  const [body = { values: [], fault: null, bySlug: false }] = bodies;
  const oneBody = (): string => bodyText(body, structure.fields, space);
  const nobody = step.record === 7 || (space?.records ?? []).length === 0;
  const id = (nobody ? null : at(space?.records ?? [], step.record)?.id) ?? "' OR 1=1 --";
  const byId: [string, string][] = step.fault ? at(oddIds(id), step.record) : [['id', id]];
  switch (operation) {
    case 'find':
      return { ...sent, path, query: conditions, headers: withOptions };
    case 'findOne':
      return { ...sent, path: `${path}/_single_`, query: conditions, headers: withOptions };
    case 'insert': {
      const items = bodies.map((each) => bodyText(each, structure.fields, space));
      return { ...sent, path, body: step.fault ? at(oddBodies, step.record) : `[${items.join()}]` };
    }
    case 'insertOne':
      return { ...sent, path: `${path}/_single_`, body: oneBody() };
    case 'updateOne':
      return {
        ...sent,
        path: `${path}/update`,
        query: conditions,
        headers: withOptions,
        body: changesText(step, scene),
      };
    case 'updateOneById':
      return { ...sent, path: `${path}/update-by-id`, query: byId, body: changesText(step, scene) };
    case 'deleteOneById':
      return { ...sent, method: 'DELETE', path, query: byId };
    case 'clear':
      return { ...sent, method: 'DELETE', path: `${path}/clear-records` };
    case 'search':
      return { ...sent, path: `${path}/search`, query: search(step, scene), headers: withOptions };
    case 'setKeys':
      return {
        ...sent,
        path: `${path}/set-key-values`,
        body: step.record % 2 === 0 ? oneBody() : changesText(step, scene),
      };
    case 'getKeys':
      return { ...sent, path: `${path}/get-key-values` };
    case 'login':
      return {
        owner,
        path: `/${project}/function/login`,
        headers: {
          ...headers,
          'function-resources': `{"mustExistSpaceStructures":[${step.fault ? '' : text}]}`,
        },
        body: loginText(step, scene),
      };
    case 'getTokenOwner':
      return {
        ...sent,
        path: `${path}/get-token-owner`,
        headers: { ...headers, token: at([...scene.tokens, 'none'], step.record) },
      };
    case 'setStructure':
      return {
        owner,
        path: `${path}/set-structure`,
        headers,
        body: step.fault ? at(oddBodies, step.record) : text,
      };
    case 'setInferred':
    case 'getInferred':
      return {
        owner,
        path: `${path}/${operation === 'setInferred' ? 'set' : 'get'}-inferred-structure`,
        headers: operation === 'setInferred' ? headers : {},
        body: step.fault ? at(oddBodies, step.record) : bodyText(body, structure.fields, space),
      };
    case 'forget':
      return null;
  }
}

const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  { mutate: 'false' },
  { mutate: 'false' },
  { 'use-pre-stored-structure': 'true' },
  { mutate: 'false' },
  { 'use-pre-stored-structure': 'true' },
  { mutate: 'false' },
  { 'auto-create-record-space': 'false' },
  { 'auto-create-project': 'false' },
  { 'clear-all-spaces': 'true' },
  { mutate: 'no' },
  {
    'auto-create-project': 'true',
    'auto-create-record-space': 'true',
    'clear-all-spaces': 'false',
    mutate: 'true',
  },
];
const oddBodies = ['', '{', 'null', '[]', '{}', '"x"', '1', '[null]', '[{}]', '[[]]'];
const oddIds = (id: string): [string, string][][] => [
  [],
  [
    ['id', id],
    ['id', id],
  ],
  [
    ['id', id],
    ['title', 'a'],
  ],
  [['title', 'a']],
  [['id', '\ud800']],
  [['id', id.toUpperCase()]],
];

/** JSON text of a value for a field. */
function valueText(
  { stored, pick }: ValuePlan,
  { type, slug, hashed }: SentField,
  space: ModelSpace | undefined,
): string {
  const held = stored ? (space?.records ?? []).map(({ values }) => values.get(slug)) : [];
  const known = held.filter((value) => value !== undefined);
  const storedType = space?.stored.fields.find((field) => field.slug === slug)?.type;
  if (known.length === 0 || storedType !== type || hashed) return pooledValue(type, pick);
  return shownText(type, at(known, pick));
}

/** A body with a value for each field that the plan names, and for those without which it would be refused. */
function bodyText(
  { values, fault, bySlug }: BodyPlan,
  fields: readonly SentField[],
  space: ModelSpace | undefined,
): string {
  const entries = fields.flatMap((field, index): [string, string][] => {
    const value = values[index] ?? null;
    const needed = field.required && field.defaultText === null;
    if (value === null && !needed && !(values.length === 0 && index === 0)) return [];
    const text = valueText(value ?? { stored: false, pick: index }, field, space);
    return [[bySlug ? field.slug : field.name, text]];
  });
  if (entries.length === 0) entries.push([at(fields, 0).name, pooledValue(at(fields, 0).type, 0)]);
  return objectText(fault === null ? entries : faulty(entries, fault, fields));
}

function changesText({ bodies }: StepPlan, { structure: { fields }, space }: StepScene): string {
  const [body] = bodies;
  const { values = [], fault = null, bySlug = false } = body ?? {};
  const entries = fields.flatMap((field, index): [string, string][] => {
    const value = values[index] ?? null;
    return value === null ? [] : [[bySlug ? field.slug : field.name, valueText(value, field, space)]];
  });
  if (entries.length === 0) return bodyText({ values: [], fault, bySlug }, fields.slice(0, 1), space);
  return objectText(fault === null ? entries : faulty(entries, fault, fields));
}

function faulty(
  entries: readonly [string, string][],
  { kind, field: pick }: NonNullable<BodyPlan['fault']>,
  fields: readonly SentField[],
): readonly [string, string][] {
  const field = at(fields, pick);
  const without = entries.filter(([key]) => key !== field.name && key !== field.slug);
  switch (kind) {
    case 'type':
      return [...without, [field.name, misfit(field.type, pick)]];
    case 'unknown':
      return [...entries, ['nosuch', '1']];
    case 'missing':
      return without;
    case 'null':
      return [...without, [field.slug, 'null']];
    case 'twice':
      return field.name === field.slug ? entries : [...without, [field.name, 'null'], [field.slug, 'null']];
    case 'system':
      return [...entries, [at(['id', 'createdAt', 'updatedAt'], pick), '"x"']];
    case 'shape':
      return [];
  }
}

function objectText(entries: readonly [string, string][]): string {
  return `{${entries.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join()}}`;
}

function condition(
  { kind, field: pick, value, form, bySlug }: ConditionPlan,
  fields: readonly SentField[],
  space: ModelSpace | undefined,
  /** Stored values are mostly those of one record, or no record would have them all. */
  recordPick: number,
): [string, string] {
  const field = at(fields, pick);
  const key = bySlug ? field.slug : field.name;
  if (kind === 'unknown') return ['nosuch', 'x'];
  if (kind === 'misfit') return [key, misfitText(field.type, value.pick)];
  if (kind === 'field') {
    const one = value.pick > 2 ? undefined : space?.records[recordPick % Math.max(1, space.records.length)];
    const held = space === undefined || one === undefined ? space : { ...space, records: [one] };
    return [key, queryText(field.type, valueText(value, field, held), form)];
  }
  const record = at([...(space?.records ?? []), null], value.pick);
  return [kind, record?.[kind] ?? at(['2020-01-01T00:00:00Z', 'x', '2020-02-30T00:00:00.000Z'], form)];
}

function optionsText({ either, sort, page, fault }: OptionsPlan, fields: readonly SentField[]): string {
  if (fault !== null) return at(oddOptions, fault);
  const words = [...fields.flatMap(({ name, slug }) => [name, slug]), 'id', 'createdAt', 'updatedAt'];
  return JSON.stringify({
    ...(either === null ? {} : { paramRelationship: either ? 'Or' : 'And' }),
    ...(sort === null
      ? {}
      : { sort: { by: at(words, sort.by), ...(sort.order === null ? {} : { order: sort.order }) } }),
    ...(page === null
      ? {}
      : { pagination: { limit: page.limit, ...(page.page === null ? {} : { page: page.page }) } }),
  });
}

const oddOptions = [
  '{',
  '[]',
  'null',
  '{"paramRelationship":"or"}',
  '{"pagination":{"limit":0}}',
  '{"pagination":{"page":1}}',
  '{"pagination":{"limit":1,"page":0}}',
  '{"pagination":{"limit":1.5}}',
  '{"pagination":[1]}',
  '{"sort":{"by":"nosuch"}}',
  '{"sort":{"by":"id","order":"up"}}',
  '{"sort":"id"}',
  '{"sort":{}}',
];

function search(
  { fault, record, conditions, bodies }: StepPlan,
  { structure: { fields }, space }: StepScene,
) {
  const texts = fields.filter(({ type, hashed }) => type === 'TEXT' && !hashed);
  const named = fault || texts.length === 0 ? fields.slice(0, 2) : texts.slice(0, 1 + (record % 3));
  const [value] = conditions.map((each) => each.value);
  const words = (space?.records ?? []).flatMap(({ values }) =>
    [...values.values()].filter((held) => typeof held === 'string'),
  );
  const pool: string = JSON.parse(pooledValue('TEXT', value?.pick ?? 0));
  const word = value?.stored === true && words.length > 0 ? at(words, value.pick) : pool;
  const points = [...word].slice(0, 900);
  const part = points.slice(record % (points.length + 1), points.length).join('');
  const turn = bodies.length;
  const text =
    turn === 1 ? part : turn === 2 ? part.toUpperCase() : turn === 3 ? part.toLowerCase() : word.slice(0, 1);
  const key = record % 2 === 0 ? 'searchableFields[]' : 'searchableFields';
  const pairs = named.map(({ name, slug }): [string, string] => [key, record % 3 === 0 ? slug : name]);
  const searched: [string, string][] = fault && record % 2 === 0 ? [] : [['searchText', text]];
  return [...searched, ...pairs, ...(fault && record > 4 ? [['nosuch', 'x'] as [string, string]] : [])];
}

const heldAs = {
  TEXT: 'string',
  NUMBER: 'number',
  BOOLEAN: 'boolean',
  ARRAY: 'string',
  OBJECT: 'string',
} as const;

/** Values that a record has, now and then with a wrong one among them. */
function loginText(
  { record: pick, bodies, fault }: StepPlan,
  { structure: { fields }, space }: StepScene,
): string {
  if (fault) return at(oddBodies, pick);
  const [body = { values: [], fault: null, bySlug: false }] = bodies;
  const record = at([...(space?.records ?? []), null], pick);
  if (record === null || body.fault !== null) return bodyText(body, fields, space);
  const guesses = bodies.length === 2;
  const entries = fields.flatMap(({ name, slug, type, hashed }): [string, string][] => {
    const held = record.values.get(slug);
    if (held === undefined || typeof held !== heldAs[type]) return [];
    return [[name, hashed && guesses ? pooledValue(type, pick) : shownText(type, held)]];
  });
  if (body.bySlug && record.id !== null) entries.push(['id', JSON.stringify(record.id)]);
  return objectText(entries);
}
