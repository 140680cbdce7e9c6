/**
 * Random rules, and random requests of users and strangers under them: each finds what plain JavaScript finds among the
 * records that the rule leaves, and changes what it may. The same in memory and by the engine. RULES=50000 asks that many.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { type Ask, asksOf, planned } from '../services/filter-asks.ts';
import { asBody, asPairs } from '../services/filter-forms.ts';
import { type Branch, holds, type Item, type Json, type Row } from '../services/filter-oracle.ts';
import { branches, records, typedFields } from '../services/filter-trees.ts';
import { type QueryHarness, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { seed, sized } from '../services/test-size.ts';

const isServed = process.env.SLUICE_TEST_SERVED !== undefined;
const requests = Number(process.env.RULES ?? sized(isServed ? 600 : 1200, 250));
const perRule = 10;

type User = { readonly id: string } & Readonly<Record<string, Json>>;

/** What a variable of each type stands for; a list operator takes an ARRAY. */
const variables: Readonly<Record<string, readonly string[]>> = {
  TEXT: ['$user.word', '$user.id', '$user.nothing'],
  NUMBER: ['$user.level'],
  BOOLEAN: ['$user.member'],
  id: ['$user.id'],
};

function variableValue(variable: Json, user: User | null): Json | undefined {
  const value = user?.[String(variable).slice('$user.'.length)];
  return value === null ? undefined : value;
}

function isVariable(value: Json | undefined): value is string {
  return typeof value === 'string' && value.startsWith('$user.');
}

/** Null: it depends on what there is not. */
function judged(item: Item, row: Row, user: User | null): boolean | null {
  if ('group' in item) {
    const met = item.branches.map((branch) => all(branch.map((one) => judged(one, row, user))));
    if (item.group === '$and') return all(met);
    const any = met.includes(true) ? true : met.includes(null) ? null : false;
    return item.group === '$or' || any === null ? any : !any;
  }
  const { raw, ...comparison } = item;
  if (!isVariable(raw)) return holds(item, row);
  const operand = variableValue(raw, user);
  return operand === undefined ? null : holds({ ...comparison, operand }, row);
}

function all(met: readonly (boolean | null)[]): boolean | null {
  return met.includes(false) ? false : met.includes(null) ? null : true;
}

const allows = (rule: Branch | true, user: User | null, row: Row): boolean =>
  rule === true || all(rule.map((item) => judged(item, row, user))) === true;

/** A filter with variables in place of some of its values; texts that look like one are others. */
function withVariables(branch: Branch, pick: () => number): Branch {
  return branch.map((item): Item => {
    if ('group' in item) return { ...item, branches: item.branches.map((one) => withVariables(one, pick)) };
    const names = variables[item.type] ?? [];
    const { operator, path } = item;
    const takesOne = !['exists', 'size', 'in', 'nin'].includes(operator) && !operator.startsWith('has');
    if (names.length > 0 && takesOne && path.length === 0 && pick() < 0.5)
      return { ...item, raw: names[Math.floor(pick() * names.length)] as string };
    if (item.type === 'TEXT' && (operator === 'in' || operator === 'nin') && pick() < 0.5)
      return { ...item, raw: '$user.words' };
    return { ...item, operand: noDollars(item.operand) };
  });
}

function noDollars(value: Json): Json {
  if (Array.isArray(value)) return value.map(noDollars);
  return typeof value === 'string' && value.startsWith('$') ? 'a' : value;
}

const publishable = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
const structure = structureOf('ruled', 'rows', typedFields);
const path = '/ruled/rows';

interface World {
  readonly harness: QueryHarness;
  readonly rows: Row[];
  readonly users: readonly (User | null)[];
  readonly tokens: ReadonlyMap<User | null, string>;
}

async function prepare(t: Test, options: Parameters<typeof queryHarnessFor>[1]): Promise<World> {
  // nobody else has to hear of the rules
  const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 }, ...options });
  const rows: Row[] = [];
  for (let round = 0; round < 8; round++) {
    const some = fc.sample(records, { numRuns: 8, seed: seed + round });
    rows.push(...((await harness.call({ path, structure, body: some })).body as Row[]));
  }
  const people = spaceOf(
    harness,
    'ruled',
    'users',
    fieldsOf(
      'name TEXT, pin TEXT hashed, word TEXT, words ARRAY, level NUMBER, member BOOLEAN, nothing TEXT',
    ),
  );
  const given = [
    { name: 'a', pin: '1', word: 'ab', words: ['a', 'b', '1'], level: 1, member: true },
    { name: 'b', pin: '2', word: 'b', words: [], level: 0.1, member: false },
    { name: 'c', pin: '3' },
  ];
  const users = (await people.insert(given)).body as User[];
  const tokens = new Map<User | null, string>();
  const structures = { mustExistSpaceStructures: [JSON.parse(people.structure)] };
  const headers = { 'function-resources': JSON.stringify(structures) };
  for (const [index, { name, pin }] of given.entries()) {
    const { body } = await harness.call({ path: '/ruled/function/login', headers, body: { name, pin } });
    tokens.set(users[index] as User, body.token);
  }
  return { harness, rows, users: [null, ...users], tokens };
}

function headersOf({ tokens }: World, user: User | null): Record<string, string> {
  const token = tokens.get(user);
  return { ...publishable, ...(token && { token }) };
}

const said = (rule: Branch | true, form: number): unknown => (rule === true ? true : asBody(rule, form));

async function found(world: World, user: User | null, ask: Ask, after: object | null) {
  const { branch, form, limit } = ask;
  const isBody = ask.way === 'body';
  const sort = ask.sort.map(({ by, order }) => ({ by, order }));
  const controls = {
    ...(sort.length === 0 ? {} : { $sort: sort }),
    ...(limit === null ? {} : { $limit: limit }),
    ...(limit === null || after !== null ? {} : { $page: ask.page }),
    ...(after === null ? {} : { $after: after }),
    ...(ask.onlyIds ? { $select: ['id'] } : {}),
  };
  const headers = {
    ...headersOf(world, user),
    ...(ask.either ? { options: '{"paramRelationship":"Or"}' } : {}),
  };
  const at = `${path}${ask.one ? '/_single_' : ''}`;
  const query = isBody ? [] : asPairs(branch, form);
  const conditions = isBody ? asBody(branch, form) : {};
  const entries = Object.entries(controls);
  const body = Array.isArray(conditions)
    ? [...conditions, ...entries]
    : { ...(conditions as object), ...controls };
  return world.harness.call({
    method: 'QUERY',
    path: at,
    query,
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
}

async function tryAll(t: Test, world: World): Promise<void> {
  const { harness, rows, users } = world;
  const times = rows.flatMap(({ createdAt, updatedAt }) => [createdAt, String(updatedAt)]).map(Date.parse);
  const stored = { ids: rows.map(({ id }) => id), times };
  const rounds = Math.ceil(requests / perRule);
  // trees of fewer types match more records
  const either = fc.oneof(branches('body', stored), branches('client', stored));
  const trees = fc.sample(either, { numRuns: rounds * 3, seed });
  const asks = fc.sample(fc.oneof(asksOf('body', rows), asksOf('url', rows)), { numRuns: requests, seed });
  const changes = fc.sample(records, { numRuns: requests, seed: seed + 1 });
  let state = seed;
  const pick = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const counts = { seen: 0, hidden: 0, changed: 0, refused: 0, missed: 0 };
  const wrong: unknown[] = [];
  for (let round = 0; round < rounds && wrong.length < 3; round++) {
    const [find, update, remove] = [0, 1, 2].map((place): Branch | true => {
      const tree = trees[round * 3 + place] as Branch;
      const kind = pick();
      // large ones leave next to nothing
      if (kind < 0.2) return true;
      return withVariables(kind < 0.7 ? tree.slice(0, 1) : tree, pick);
    }) as [Branch | true, Branch | true, Branch | true];
    const form = Math.floor(pick() * 3);
    const rules = { find: said(find, form), update: said(update, form), delete: said(remove, form) };
    const set = await harness.call({
      method: 'PUT',
      path: '/_projects_/ruled/spaces/rows/rules',
      body: rules,
    });
    if (set.status !== 200) {
      wrong.push({ rules, problems: set.problems });
      continue;
    }
    for (let index = 0; index < perRule; index++) {
      const user = users[Math.floor(pick() * users.length)] as User | null;
      const who = user?.name ?? 'a stranger';
      const at = round * perRule + index;
      if (pick() < 0.4) {
        const row = rows[Math.floor(pick() * rows.length)] as Row;
        const given = Object.entries(changes[at] as object).filter(() => pick() < 0.6);
        if (given.length === 0) continue;
        const body = Object.fromEntries(given);
        const after = { ...row, ...body } as Row;
        const may = allows(find, user, row) && allows(update, user, row);
        // what an update makes of the time is not foreseen
        const isTimed = JSON.stringify(rules.update).includes('updatedAt');
        const answer = await harness.call({
          path: `${path}/update-by-id`,
          query: [['id', row.id]],
          headers: headersOf(world, user),
          body,
        });
        const code = !may ? 'no_match' : allows(update, user, after) ? null : 'not_allowed';
        if (answer.code !== code && !isTimed) wrong.push({ rules, who, row, body, code, answer });
        if (answer.status === 200) rows[rows.indexOf(row)] = answer.body as Row;
        counts[answer.status === 200 ? 'changed' : answer.code === 'no_match' ? 'missed' : 'refused']++;
        continue;
      }
      const asked = { ...(asks[at] as Ask), counted: false };
      const ask = pick() < 0.5 ? { ...asked, branch: asked.branch.slice(0, 1) } : asked;
      const visible = rows.filter((row) => allows(find, user, row));
      const { after, records: expected } = planned(visible, ask);
      const answer = await found(world, user, ask, after);
      const shown = ask.one ? [answer.body].filter((one) => one !== null) : answer.body;
      const ids = (list: readonly Json[]): unknown => list.map((one) => (one as { id: string }).id);
      counts.seen += expected.length;
      counts.hidden += rows.length - visible.length;
      if (answer.status !== 200) wrong.push({ rules, who, ask, answer });
      else if (JSON.stringify(ids(shown)) !== JSON.stringify(ids(expected)))
        wrong.push({ rules, who, ask, ids: ids(shown), expected: ids(expected) });
      const { body: counted } = await harness.call({
        path: `${path}/_count_`,
        headers: headersOf(world, user),
      });
      if (counted?.count !== visible.length) wrong.push({ rules, who, counted, expected: visible.length });
    }
  }
  t.strictSame(wrong, []);
  t.comment(JSON.stringify(counts));
  for (const count of Object.values(counts)) t.ok(count > 0, 'each outcome came');
}

t.test(isServed ? 'on a server' : 'in memory', async (t) => tryAll(t, await prepare(t, {})));
t.test('beyond memory', { skip: isServed }, async (t) =>
  tryAll(t, await prepare(t, { pending: { cacheBytes: 0 } })),
);
