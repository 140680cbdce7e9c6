/** Rules of files: what they may say, and that memory, SQL and the filters of records agree on what they mean. */
import t from 'tap';
import { conditionFor, type FileCondition } from '#catalogue/file-rules/file-rules.ts';
import { meets, type RuledFile, valueIn } from '#catalogue/file-rules/file-test.ts';
import { Projects } from '#catalogue/projects.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { fileRow } from '#gateway/catalogue/file-row.ts';
import { fileStructure, readFileRules } from '#query/login/file-rules.ts';
import { type FileRulesParts, summarizeFileRules } from '#query/login/project-file-rules.ts';
import { bindRules, readRules } from '#query/login/rules.ts';
import { type DropParts, dropProject } from '#query/projects/drop-space.ts';
import { filterTest, type ReadValue } from '#records/input/filters/filter-test.ts';
import { asFilter, type Conditions } from '#records/input/parse-conditions.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { randomFrom } from '../services/random-from.ts';
import { seed, sized } from '../services/test-size.ts';

const never = new AbortController().signal;
const now = Date.parse('2026-06-01T00:00:00.000Z');

function problemsOf(rules: unknown): readonly string[] {
  const problems: string[] = [];
  readFileRules(rules, problems);
  return problems;
}

t.test('problems', async (t) => {
  const cases: readonly (readonly [rules: unknown, problem: RegExp])[] = [
    [null, /should be a JSON object/],
    [{ find: true }, /no 'find', only upload, read, list, delete/],
    [{ read: {} }, /true for all files/],
    [{ read: { colour: 'red' } }, /^read: files have no field 'colour', only id, name, .*createdAt$/],
    [{ read: { size: 'big' } }, /read: .*valid number/],
    [{ read: { owner: '$user.role' } }, /'\$user.role' is not a variable of files/],
    [{ read: { owner: '$users.id' } }, /not a variable/],
    [{ read: { originalName: '$now' } }, /\$now can only be compared with createdAt/],
    [{ read: { createdAt: { in: ['$now'] } } }, /\$now can only be compared/],
    [{ read: { createdAt: '$user.id' } }, /valid time/],
    [{ read: { size: '$user.id' } }, /valid number/],
    [{ read: { updatedAt: { lt: '$now' } } }, /compare createdAt/],
    [{ list: { $or: [{ originalName: { icontains: 'a' } }] } }, /no 'icontains'/],
    [{ maxBytes: -1 }, /maxBytes/],
    [{ maxBytes: '5' }, /maxBytes/],
    [{ types: [] }, /types/],
    [{ types: ['image'] }, /types/],
    [{ types: ['Image/PNG'] }, /types/],
    [{ users: 5 }, /users should be the slug/],
  ];
  for (const [rules, problem] of cases) t.match(problemsOf(rules), [problem], JSON.stringify(rules));
  t.strictSame(
    problemsOf({
      upload: { owner: '$user.id', createdAt: { lte: '$now' } },
      read: true,
      list: [['size', 'lt', 10]],
      delete: false,
      users: 'people',
      maxBytes: 0,
      types: ['image/', 'application/vnd.ms-excel'],
    }),
    [],
  );
});

t.test('warnings', async (t) => {
  const project = { ownerId: 'owner', slug: 'app' };
  const warningsOf = async (given: unknown, hasPublicLinks: boolean) => {
    const catalogue = { find: () => Promise.resolve({}) } as unknown as FileRulesParts['catalogue'];
    const parts = { catalogue, hasPublicLinks };
    return (await summarizeFileRules(parts, { ...project, given }, never)).warnings;
  };
  const anybody = "With FILE_LINKS=public anybody who knows a file's address reads it";
  const narrow = { read: { owner: '$user.id' } };
  t.strictSame(await warningsOf(narrow, true), [anybody]);
  t.strictSame(await warningsOf({ list: { owner: '$user.id' } }, true), [anybody]);
  t.strictSame(await warningsOf(narrow, false), []);
  t.strictSame(await warningsOf({ read: true }, true), ['Everybody can read all files, without logging in']);
});

const random = randomFrom(seed);
const pick = <One>(list: readonly One[]): One => list[Math.floor(random() * list.length)] as One;
const names = ['a.txt', 'A.TXT', 'b.png', 'ä😀.txt', 'x', ''];
const values: Readonly<Record<string, readonly unknown[]>> = {
  owner: ['ada', 'bob', '$user.id'],
  folder: ['films', 'songs', 'f'],
  originalName: names,
  name: names,
  contentType: ['text/plain', 'image/png', 'image/'],
  size: [0, 1, 5, 5.5, 1000],
  createdAt: ['2026-01-02T03:04:05.678Z', '2026-06-01', '2300-01-01', '$now'],
  id: ['x', '$user.id'],
};
const operators: Readonly<Record<string, readonly string[]>> = {
  size: ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'exists'],
  createdAt: ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'exists'],
  id: ['eq', 'ne', 'in', 'nin', 'exists'],
};
const ofTexts = ['contains', 'startsWith', 'endsWith', ...(operators.size as readonly string[])];

function comparison(): unknown {
  const field = pick(Object.keys(values));
  const operator = pick(operators[field] ?? ofTexts);
  const value = (): unknown => pick(values[field] as readonly unknown[]);
  if (operator === 'exists') return [field, operator, random() < 0.5];
  if (operator !== 'in' && operator !== 'nin') return [field, operator, value()];
  const list = Array.from({ length: Math.floor(random() * 3) }, value);
  return [field, operator, list.filter((one) => one !== '$now')];
}

function conditions(depth = 0): unknown[] {
  return Array.from({ length: 1 + Math.floor(random() * 2) }, () => {
    if (depth === 3 || random() < 0.6) return comparison();
    return [pick(['$or', '$and', '$not']), [conditions(depth + 1), conditions(depth + 1)]];
  });
}

function someFile(): CloudFile {
  const owner = pick(['ada', 'bob', undefined]);
  const createdAt = new Date(pick([Date.UTC(2026, 0, 2, 3, 4, 5, 678), now, now + 1, now - 86_400_000]));
  const more = {
    originalName: pick(names) || 'y',
    contentType: pick(['text/plain', 'image/png']),
    createdAt,
  };
  const size = pick([0, 1, 5, 6, 1000]);
  const folder = pick(['films', 'songs', undefined]);
  return newFile({
    ownerId: 'account',
    ...more,
    size,
    updatedAt: createdAt,
    ...(owner && { owner }),
    ...(folder && { folder, path: 'a' }),
  });
}

/** The condition of random rules for a sender, and what the filters of records make of the same rules. */
function randomRules(user: string | null): {
  readonly given: unknown;
  readonly bound: FileCondition;
  readonly asRecord: (file: RuledFile) => boolean;
} {
  const given = conditions();
  const problems: string[] = [];
  const { rules } = readFileRules({ list: given }, problems);
  const bound = conditionFor({ user, rules }, 'list', now) as FileCondition;
  const ofRecords = readRules({ find: given }, fileStructure, problems);
  const asUser = user === null ? null : { id: user, values: {} };
  const { find } = bindRules(ofRecords, fileStructure, { user: asUser, now: new Date(now) }, problems) as {
    readonly find: Conditions | null;
  };
  if (problems.length > 0 || find === null) throw new Error(`${JSON.stringify(given)}: ${problems}`);
  const read: ReadValue<RuledFile> = (target) => (file) =>
    valueIn(file, (typeof target === 'string' ? target : target.name) as 'id');
  const tests = [...find.plain.map(asFilter), ...find.others].map((filter) => filterTest(filter, read));
  return { given, bound, asRecord: (file) => tests.every((test) => test(file)) };
}

t.test('memory, SQL and the filters of records agree', async (t) => {
  const { db } = await openMigratedChdb(t);
  const table = createCloudFiles({ db, database: 'sluice' });
  const files = Array.from({ length: 60 }, someFile);
  const strangers = Array.from({ length: 10 }, () => newFile({ ownerId: 'account', projectSlug: 'other' }));
  await table.insertRows([...files, ...strangers].map(fileRow));
  let matches = 0;
  for (let run = 0; run < sized(2000, 200); run++) {
    const user = pick(['ada', null]);
    const { given, bound, asRecord } = randomRules(user);
    const what = `${user}: ${JSON.stringify(given)}`;
    const wanted = files.filter((file) => meets(bound, file) === true).map(({ name }) => name);
    if (files.some((file) => asRecord(file) !== meets(bound, file))) t.fail(`records differ: ${what}`);
    const query = { ownerId: 'account', projectSlug: 'demo', limit: 1000, condition: bound };
    const listed = (await table.list(query, never)).map(({ name }) => name);
    if (listed.sort().join() !== wanted.sort().join()) t.fail(`the list differs: ${what}`);
    if ((await table.count(query, never)) !== wanted.length) t.fail(`the count differs: ${what}`);
    // a size that is not known yet decides nothing that another size would change
    for (const file of files) {
      const early = meets(bound, { ...file, size: undefined });
      if (early !== undefined && early !== meets(bound, file)) t.fail(`the beginning differs: ${what}`);
    }
    matches += wanted.length;
  }
  t.ok(matches > 0, 'some files match');
});

t.test('a file is found by its digest only under the rule', async (t) => {
  const { db, database } = await openMigratedChdb(t);
  const table = createCloudFiles({ db, database });
  const sha256 = 'a'.repeat(64);
  const file = newFile({ owner: 'bob', sha256, size: 7 });
  await table.insert(file, never);
  const { ownerId, projectSlug } = file;
  const found = (condition: FileCondition) =>
    table.findByDigest({ ownerId, projectSlug, sha256, condition }, never);
  const ofOwner = (owner: string): FileCondition => ({ field: 'owner', operator: 'eq', values: [owner] });
  t.equal(await found(ofOwner('ada')), null);
  t.match(await found(ofOwner('bob')), { name: file.name, owner: 'bob' });
  t.equal(await found({ field: 'size', operator: 'gt', values: [7] }), null);
});

t.test('a project that a file kept from being dropped lost its rules', async (t) => {
  const { db, database } = await openMigratedChdb(t);
  const projects = new Projects({ db, database });
  const { rules } = readFileRules({ read: true }, []);
  const project = await projects.ensure('account', 'demo', never);
  await projects.setFileRules(project, rules, never);
  // another process stores a file after the first look
  let looks = 0;
  const hasAny = async () => looks++ > 0;
  projects.askForFiles({
    hasAny,
    isHidden: async () => false,
    newest: async () => [],
    named: async () => [],
    stored: async () => new Set(),
  });
  const catalogue = { idsOfProject: async () => [] };
  const spaces = { untilHeard: async () => {} };
  const deps = { projects, catalogue, spaces } as unknown as DropParts;
  await dropProject(deps, project, never);
  t.equal(looks, 2);
  t.strictSame((await projects.find('account', 'demo', never))?.fileRules, rules);
  looks = 1;
  await t.rejects(dropProject(deps, project, never), { code: 'project_has_files' });
});
