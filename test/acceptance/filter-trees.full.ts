/**
 * Random filters over records of all types, asked of a running server by address, by body and by the published client,
 * with orders, pages and counts: the answer is what plain JavaScript makes of the same records, whether they are held in
 * memory or read by the engine. FILTER_TREES=100000 asks that many.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import {
  type Ask,
  askByClient,
  askByFetch,
  asksOf,
  type Found,
  listOf,
  type Model,
  modelOf,
  path,
  planned,
  structure,
} from '../services/filter-asks.ts';
import type { Branch, Row } from '../services/filter-oracle.ts';
import { records, typedFields, ways } from '../services/filter-trees.ts';
import { type Answer, call, structureOf } from '../services/record-client.ts';
import { malformed, spoilt } from '../services/spoilt-filters.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { full, seed, sized } from '../services/test-size.ts';

const total = Number(process.env.FILTER_TREES ?? sized(3000, 300));
const bad = sized(1000, 100);
/** It takes longer: in the default run it is asked to count only. */
const byEngineAlone = full ? Math.ceil(total / 3) : 0;
const atOnce = 16;
/** Made before they are asked. */
const batch = 300;
const shownDifferences = 5;

const plainFind = {
  either: false,
  sort: [],
  limit: null,
  page: 1,
  after: null,
  counted: false,
  onlyIds: false,
  one: false,
};

let sluice = await sluiceFor(t);
const rows = await prepare();

async function prepare(): Promise<readonly Row[]> {
  const password = { name: 'password', type: 'TEXT', hashed: true };
  // behind so many of their type the late ones have no column
  const fillers = ['TEXT', 'NUMBER', 'BOOLEAN', 'BIGINT'].flatMap((type) =>
    Array.from({ length: 24 }, (_, index) => ({ name: `${type}${index}`, type })),
  );
  const body = structureOf('filters', 'rows', [
    ...typedFields.slice(0, typedFields.length / 2),
    password,
    ...fillers,
    ...typedFields.slice(typedFields.length / 2),
  ]);
  await call({ ...sluice, path: `${path}/set-structure`, body });
  const made: Row[] = [];
  for (let round = 0; round < 12; round++) {
    const some = fc.sample(records, { numRuns: 8, seed: seed + round });
    made.push(...((await ask({ path, body: some })).body as Row[]));
  }
  for (const [index, { id }] of made.entries()) {
    if (index % 5 > 0) continue;
    const changed = { path: `${path}/update-by-id?id=${id}`, body: { text: 'ab', number: null } };
    made[index] = (await ask(changed)).body as Row;
  }
  return made;
}

async function ask(request: { path: string; body?: unknown }): Promise<Answer> {
  const answer = await call({ ...sluice, structure, ...request, headers: { 'sluice-timing': 'true' } });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer;
}

function byEngine({ headers }: Answer): boolean {
  return !headers.get('server-timing')?.includes('engine;dur=0.000');
}

/** Asks some `atOnce`. */
async function forEach<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const worker = async (): Promise<void> => {
    for (let item = items.pop(); item !== undefined; item = items.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** @returns the share of those that the engine answered */
async function compare(t: Test, asked: number, firstSeed: number): Promise<number> {
  const model = modelOf(sluice);
  const differences: string[] = [];
  const counts = { found: 0, byFetch: 0, byEngine: 0 };
  const byType: Record<string, number> = {};
  for (let at = 0; at < asked && differences.length < shownDifferences; at += batch) {
    const numRuns = Math.ceil(Math.min(batch, asked - at) / ways.length);
    const asks = ways.flatMap((way) => fc.sample(asksOf(way, rows), { numRuns, seed: firstSeed + at }));
    await forEach(asks, async (one) => {
      const { after, ...wanted } = planned(rows, one);
      const answer = await answerOf(one, after, model, counts).catch((error: unknown) => error);
      counts.found += wanted.records.length;
      for (const type of typesIn(one.branch)) byType[type] = (byType[type] ?? 0) + 1;
      const [is, should] = [JSON.stringify(answer), JSON.stringify(wanted)];
      if (is !== should) differences.push(shown({ asked: one, is, should }));
    });
  }
  t.strictSame(differences.slice(0, shownDifferences), []);
  t.ok(counts.found > asked, `${asked} trees, ${counts.found} records found`);
  t.comment(`comparisons by type: ${JSON.stringify(byType)}`);
  return counts.byEngine / counts.byFetch;
}

/** Of all comparisons. */
function typesIn(branch: Branch): readonly string[] {
  return branch.flatMap((item) => ('group' in item ? item.branches.flatMap(typesIn) : item.type));
}

/** Cut, so that several can be read. */
function shown(difference: object): string {
  return Object.entries(difference)
    .map(
      ([name, value]) =>
        `${name}: ${(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 1000)}`,
    )
    .join('\n');
}

async function answerOf(
  one: Ask,
  after: object | null,
  model: Model,
  counts: { byFetch: number; byEngine: number },
): Promise<Found> {
  if (one.way === 'client') return { records: await askByClient(model, one, after), total: null };
  const answer = await askByFetch(sluice, one, after);
  // to count the records the engine is always asked
  if (!one.counted) counts.byFetch++;
  if (!one.counted && byEngine(answer)) counts.byEngine++;
  if (answer.status !== 200) throw answer.body;
  const total = answer.headers.get('sluice-total-count');
  return {
    records: one.one ? listOf(answer.body) : answer.body,
    total: total === null ? null : Number(total),
  };
}

const keepsNothing = process.env.SLUICE_TEST_CACHE === '0' && 'servers keep nothing';
t.test('of records in memory', { timeout: 3_600_000, skip: keepsNothing }, async (t) => {
  // other ones each time: answers are kept as well
  for (let round = 0; byEngine(await ask({ path: `${path}?number[gt]=${round}` })); round++) {
    if (round === 2000) throw new Error('the records were not read into memory');
  }
  t.equal(await compare(t, total - byEngineAlone, seed), 0);
});

t.test('of records that the engine reads', { timeout: 3_600_000, skip: !full }, async (t) => {
  await sluice.stop();
  sluice = await sluice.restart({ RECORD_CACHE_BYTES: '0' });
  t.equal(await compare(t, byEngineAlone, seed + total), 1);
});

t.test('filters that are wrong are refused with every problem', { timeout: 3_600_000 }, async (t) => {
  const model = modelOf(sluice);
  const stored = { ids: rows.map(({ id }) => id), times: [Date.now()] };
  const differences: string[] = [];
  const asks = ways.flatMap((way) =>
    [...fc.sample(spoilt(way, stored), { numRuns: Math.ceil(bad / ways.length), seed }), ...malformed()].map(
      (each) => ({ ...each, way }),
    ),
  );
  const count = asks.length;
  await forEach(asks, async ({ way, branch, problems }) => {
    const one: Ask = { way, branch, form: problems.length % 3, ...plainFind };
    const body: Record<string, unknown> =
      way === 'client'
        ? await askByClient(model, one, null).catch((error: unknown) => error)
        : (await askByFetch(sluice, one, null)).body;
    const isWhole = way === 'client' ? isTold(body, problems) : isRefused(body, problems);
    if (!isWhole) differences.push(shown({ way, branch, body, problems }));
  });
  t.strictSame(differences.slice(0, shownDifferences), []);
  t.comment(`${count} filters`);
});

/** @param problems how each begins */
function isRefused(
  { statusCode, code, error }: Record<string, unknown>,
  problems: readonly string[],
): boolean {
  const left = [...(error as string[])];
  const isListed = (beginning: string): boolean => {
    const at = left.findIndex((problem) => problem.startsWith(beginning));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  };
  return statusCode === 400 && code === 'invalid_condition' && problems.every(isListed) && left.length === 0;
}

/** Of an answer the client throws the status and one text. */
function isTold({ statusCode, details }: Record<string, unknown>, problems: readonly string[]): boolean {
  return statusCode === 400 && problems.every((problem) => String(details).includes(problem));
}
