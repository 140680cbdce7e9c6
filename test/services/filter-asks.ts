/** Finds with random filters, orders and pages: what they should answer, and how a server is asked. */
import fc from 'fast-check';
import { type Config, getSchemaCreator, type Space } from 'nobox-client';
import { asBody, asPairs, asParams } from './filter-forms.ts';
import { type Branch, holds, type Json, type Row, type Sort, sorted } from './filter-oracle.ts';
import { branches, fieldTypesOf, sortsOf, typedFields, type Way } from './filter-trees.ts';
import { type Answer, call, structureOf } from './record-client.ts';

export interface Ask {
  readonly way: Way;
  readonly branch: Branch;
  readonly either: boolean;
  readonly sort: readonly Sort[];
  /** Null: no pages. */
  readonly limit: number | null;
  readonly page: number;
  /** Begin behind the record of this number, where there are so many. */
  readonly after: number | null;
  readonly counted: boolean;
  readonly onlyIds: boolean;
  /** findOne in place of find. */
  readonly one: boolean;
  readonly form: number;
}

export function asksOf(way: Way, rows: readonly Row[]): fc.Arbitrary<Ask> {
  const stored = {
    ids: rows.map(({ id }) => id),
    times: rows.flatMap(({ createdAt, updatedAt }) => [createdAt, String(updatedAt)]).map(Date.parse),
  };
  const finds = fc.record({
    way: fc.constant(way),
    branch: branches(way, stored),
    either: fc.boolean(),
    sort: sortsOf(way),
    limit: fc.option(fc.integer({ min: 1, max: 12 }), { freq: 4 }),
    page: fc.constantFrom(1, 1, 2, 3),
    after: fc.option(fc.nat(30), { freq: 2 }),
    // of these the client says nothing
    counted: way === 'client' ? fc.constant(false) : fc.boolean(),
    onlyIds: fc.boolean(),
    one: fc.constant(false),
    form: fc.nat(2),
  });
  const ones = finds.map((ask) => ({ ...ask, limit: null, counted: false, one: true }));
  return fc.oneof({ weight: 9, arbitrary: finds }, { weight: 1, arbitrary: ones });
}

export interface Found {
  readonly records: readonly Json[];
  readonly total: number | null;
}

/** What the answer should be, and the record that a page begins behind as pagination.after has it. */
export function planned(rows: readonly Row[], ask: Ask): Found & { readonly after: object | null } {
  const { branch, limit, sort } = ask;
  const isMet = (row: Row): boolean =>
    ask.either ? branch.some((item) => holds(item, row)) : branch.every((item) => holds(item, row));
  const all = sorted(rows.filter(isMet), sort);
  const said = limit === null || ask.after === null ? undefined : all[ask.after];
  // the client has it in a header, from which axios removes letters beyond Latin-1
  const last = ask.way === 'client' && /[^\x20-\x7e]/.test(JSON.stringify(said)) ? undefined : said;
  const from = last === undefined ? (ask.page - 1) * (limit ?? 0) : all.indexOf(last) + 1;
  const records = all.slice(from, ask.one ? 1 : from + (limit ?? all.length));
  const values = sort.map(({ by }) => (by === 'id' ? null : (last?.[by] ?? null)));
  return {
    records: ask.onlyIds ? records.map(({ id }) => ({ id })) : records.map((row) => shownBy(ask.way, row)),
    total: ask.counted ? all.length : null,
    after: last === undefined ? null : { id: last.id, ...(sort.length === 0 ? {} : { values }) },
  };
}

/** The published client is answered the fields that it knows. */
function shownBy(way: Way, row: Row): Json {
  if (way !== 'client') return row;
  const known = { id: '', ...fieldTypesOf(way), createdAt: '', updatedAt: '' };
  return Object.fromEntries(Object.keys(known).map((name) => [name, row[name] as Json]));
}

export interface Server {
  readonly baseUrl: string;
  readonly token: string;
}
export const path = '/filters/rows';
/** What each request declares; the space has more fields. */
export const structure = structureOf('filters', 'rows', [
  ...typedFields,
  { name: 'password', type: 'TEXT', hashed: true },
]);

/** @param after as `planned` says */
export async function askByFetch(server: Server, ask: Ask, after: object | null): Promise<Answer> {
  const { way, branch, form, limit } = ask;
  const isBody = way === 'body';
  const sort = ask.sort.map(({ by, order }) => ({ by, order }));
  const sortText = sort.map(({ by, order }) => (order === 'desc' ? `-${by}` : by)).join(',');
  const controls: Record<string, unknown> = {
    ...(sort.length === 0 ? {} : { $sort: isBody ? sort : sortText }),
    ...(limit === null ? {} : { $limit: limit }),
    ...(limit === null || after !== null ? {} : { $page: ask.page }),
    ...(after === null ? {} : { $after: isBody ? after : JSON.stringify(after) }),
    ...(ask.onlyIds ? { $select: isBody ? ['id'] : 'id' } : {}),
    ...(ask.counted ? { $count: 'exact' } : {}),
  };
  const headers = {
    'sluice-timing': 'true',
    ...(ask.either ? { options: '{"paramRelationship":"Or"}' } : {}),
  };
  const one = ask.one ? '/_single_' : '';
  if (!isBody) {
    const pairs = [...asPairs(branch, form), ...Object.entries(controls)];
    const query = pairs.map((pair) => pair.map((text) => encodeURIComponent(String(text))).join('='));
    return call({ ...server, structure, path: `${path}${one}?${query.join('&')}`, headers });
  }
  const said = asBody(branch, form);
  const body = Array.isArray(said)
    ? [...said, ...Object.entries(controls)]
    : { ...(said as object), ...controls };
  const isPost = form === 0 && !ask.one;
  return call({
    ...server,
    structure,
    headers,
    body,
    ...(isPost ? { path: `${path}/_find_` } : { path: `${path}${one}`, method: 'QUERY' }),
  });
}

/** What the published client has for the space. */
export interface Model {
  find(params: object, options: object): Promise<readonly Json[]>;
  findOne(params: object, options: object): Promise<Json>;
}

export function modelOf({ baseUrl, token }: Server): Model {
  const config: Config = { endpoint: baseUrl, project: 'filters', token };
  const types: Readonly<Record<string, unknown>> = {
    TEXT: String,
    NUMBER: Number,
    BOOLEAN: Boolean,
    ARRAY: Array,
    OBJECT: Object,
  };
  const structure: Record<string, object> = Object.fromEntries(
    Object.entries(fieldTypesOf('client')).map(([name, type]) => [name, { type: types[type] }]),
  );
  Object.assign(structure, { password: { type: String, hashed: true } });
  const space = { space: 'rows', description: 'made by a test', structure } as unknown as Space<object>;
  return getSchemaCreator(config, { type: 'rowed' })(space) as unknown as Model;
}

export async function askByClient(model: Model, ask: Ask, after: object | null): Promise<readonly Json[]> {
  const { limit, page } = ask;
  const options = {
    paramRelationship: ask.either ? 'Or' : 'And',
    sort: ask.sort.map(({ by, order }) => ({ by, order })),
    ...(limit === null ? {} : { pagination: after === null ? { limit, page } : { limit, after } }),
    ...(ask.onlyIds ? { select: ['id'] } : {}),
  };
  const params = asParams(ask.branch, ask.form);
  return ask.one ? listOf(await model.findOne(params, options)) : model.find(params, options);
}

/** Of findOne. */
export function listOf(record: Json): readonly Json[] {
  return record === null ? [] : [record];
}
