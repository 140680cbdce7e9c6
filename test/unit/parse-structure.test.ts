import t from 'tap';
import { StructureCache } from '#query/input/structure-cache.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { structureText } from '#records/structure/structure.ts';
import { structureOf } from '../services/record-client.ts';
import { problemsOf } from '../services/thrown-by.ts';

const head = { name: 'People', description: 'd', projectSlug: 'p', slug: 's' };
const field = (more: object = {}) => ({ name: 'a', slug: 'a', type: 'TEXT', ...more });
const parse = (input: unknown) => parseStructure(typeof input === 'string' ? input : JSON.stringify(input));
const withFields = (...recordStructure: unknown[]) => parse({ ...head, recordStructure });

t.test('a right structure, with both spellings of its fields', async (t) => {
  for (const key of ['recordStructure', 'recordFieldStructures']) {
    const { structure, problems } = parse({
      ...head,
      [key]: [
        field({ required: true, unique: true, description: 'x', comment: 'y', defaultValue: 'z' }),
        { name: 'firstName', slug: 'first-name', type: 'NUMBER', defaultValue: 0 },
        { name: 'Name', slug: '-name', type: 'OBJECT', defaultValue: { b: 1, a: 2 } },
        { name: 'secret', slug: 'secret', type: 'TEXT', hashed: true },
      ],
      authOptions: { active: true, space: 'User' },
      functionOptions: {},
      initialData: [],
      webhooks: null,
      surprise: 1,
    });
    t.strictSame(problems, []);
    t.match(structure, { name: 'People', description: 'd', projectSlug: 'p', slug: 's', clear: false });
    t.strictSame(structure?.fields[0], {
      name: 'a',
      slug: 'a',
      type: 'TEXT',
      required: true,
      unique: true,
      hashed: false,
      description: 'x',
      comment: 'y',
      defaultValue: 'z',
      slot: null,
      keyed: false,
    });
    t.match(structure?.fields[1], { required: false, unique: false, hashed: false, defaultValue: 0 });
    t.equal(structure?.fields[2]?.defaultValue, '{"a":2,"b":1}');
    t.equal(structure?.lookup.get('first-name'), structure?.fields[1]);
    t.equal(structure?.lookup.get('firstName'), structure?.fields[1]);
    t.equal(structure?.lookup.get('toString'), undefined);
    t.match(parse(structureText(structure as NonNullable<typeof structure>)), { structure, problems: [] });
  }
});

t.test('texts that are no structure', async (t) => {
  for (const [text, problem] of [
    ['{', /not valid JSON/],
    ['', /not valid JSON/],
    ['[]', /not a JSON object/],
    ['null', /not a JSON object/],
    ['"x"', /not a JSON object/],
    ['1', /not a JSON object/],
    ['['.repeat(100_000), /not valid JSON/],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, /not a JSON object/],
  ] as const) {
    t.match(parse(text), { structure: null, problems: [problem] }, text.slice(0, 20));
  }
  t.match(parse({}).problems, [/projectSlug/, /\bslug/, /recordStructure/]);
  t.match(parse({ ...head, name: 1, description: [], clear: 'yes', recordStructure: {} }).problems, [
    /name/,
    /description/,
    /clear/,
    /recordStructure/,
  ]);
});

t.test('every problem of every field is listed', async (t) => {
  const { problems, structure } = withFields(
    { name: 'a', slug: 'a', type: 'UUID', required: 'yes', unique: 1, hashed: {} },
    'text',
    {},
    { name: 'id', slug: 'x', type: 'TEXT' },
    { name: 'x2', slug: 'createdAt', type: 'TEXT' },
    { name: 'b', slug: '__proto__', type: 'TEXT' },
    { name: 'c', slug: 'sl\nug', type: 'TEXT' },
    { name: 'd', slug: 'd'.repeat(201), type: 'TEXT' },
    { name: 'e'.repeat(201), slug: 'e', type: 'TEXT' },
    { name: 'f\u0007', slug: 'f', type: 'TEXT' },
    { name: 'g\uFFFD', slug: 'g', type: 'TEXT' },
    { name: 'h\ud800', slug: 'h', type: 'TEXT' },
    { name: 'i', slug: 'i', type: 'TEXT', hashed: true, unique: true },
    { name: 5, slug: 6, type: 7 },
    { name: 'j', slug: '\ud800', type: 'TEXT' },
  );
  t.equal(structure, null);
  t.match(problems, [
    /'a' has an unknown type 'UUID'.*TEXT, NUMBER, BOOLEAN, ARRAY, OBJECT/,
    /'a' has a required/,
    /'a' has a unique/,
    /'a' has a hashed/,
    /index 1 .*not an object/,
    /index 2 lacks a name/,
    /index 2 lacks a slug/,
    /index 2 lacks a type.*TEXT, NUMBER, BOOLEAN, ARRAY, OBJECT/,
    /'id' has the reserved name/,
    /'x2' has the reserved slug 'createdAt'/,
    /'b' has the reserved slug '__proto__'/,
    /'c' has a slug that has control characters/,
    /'d' has a slug that has more than 200/,
    /more than 200/,
    /control characters/,
    /'g\uFFFD' .*UTF-8/,
    /UTF-8/,
    /'i' is both hashed and unique/,
    /index 13 has a name that is not text/,
    /index 13 has a slug that is not text/,
    /index 13 has an unknown type/,
    /'j' has a slug that is not valid UTF-8/,
  ]);
  t.equal(problems.length, 22);
});

t.test('repeated names and slugs, also across', async (t) => {
  t.match(withFields(field(), field({ name: 'b' })).problems, [/repeats 'a' as the slug/]);
  t.match(withFields(field(), field({ slug: 'b' })).problems, [/repeats 'a' as the name/]);
  t.match(
    withFields(field(), { name: 'b', slug: 'c', type: 'TEXT' }, { name: 'c', slug: 'd', type: 'TEXT' })
      .problems,
    [/repeats 'c' as the name/],
  );
  t.equal(
    withFields(field(), { name: 'A', slug: 'A', type: 'TEXT' }).problems.length,
    0,
    'letter case counts',
  );
});

t.test('default values have the type of their field', async (t) => {
  const wrong = { TEXT: 1, NUMBER: '1', BOOLEAN: 'true', ARRAY: {}, OBJECT: [] };
  for (const [type, defaultValue] of Object.entries(wrong)) {
    t.match(
      withFields(field({ type, defaultValue })).problems,
      [/defaultValue that should be a valid/],
      type,
    );
  }
  t.match(withFields(field({ type: 'TEXT', defaultValue: 'a\uFFFD' })).problems, [/UTF-8/]);
  const right = { TEXT: '', NUMBER: 0, BOOLEAN: false, ARRAY: [], OBJECT: {} };
  for (const [type, defaultValue] of Object.entries(right)) {
    t.strictSame(withFields(field({ type, defaultValue })).problems, [], type);
  }
  t.equal(withFields(field({ defaultValue: null })).structure?.fields[0]?.defaultValue, null);
});

t.test('the number of fields is bounded', async (t) => {
  const many = (count: number) =>
    withFields(...Array.from({ length: count }, (_, i) => ({ name: `f${i}`, slug: `f${i}`, type: 'TEXT' })));
  t.strictSame(many(500).problems, []);
  t.match(many(501).problems, [/501 fields; at most 500/]);
});

t.test('names that every object has are only names', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];
  const { structure } = withFields(...names.map((name, i) => ({ name, slug: `f${i}`, type: 'TEXT' })));
  t.strictSame(
    names.map((name) => structure?.lookup.get(name)?.slug),
    ['f0', 'f1', 'f2', 'f3', 'f4'],
  );
  t.same(parse('{"__proto__":{"slug":"s","projectSlug":"p","recordStructure":[]}}').problems.length, 3);
});

t.test('the cache parses once, compares with the path, and keeps nothing that is wrong', async (t) => {
  const cache = new StructureCache({ scopes: [], bytes: 1e6 });
  const text = JSON.stringify({ ...head, recordStructure: [field()] });
  const path = { projectSlug: 'p', slug: 's' };
  const first = cache.read(text, path);
  t.equal(cache.read(text.slice(), path), first, 'the same object');
  const problems = (header: string | undefined, where = path) => problemsOf(() => cache.read(header, where));
  t.match(problems(undefined), ['Please set structure in Request Header']);
  t.match(problems(undefined), [/use-pre-stored-structure: true/], 'once it did not say what else to send');
  t.match(problems(''), ['Please set structure in Request Header']);
  t.match(problems(text, { projectSlug: 'q', slug: 'r' }), [/projectSlug is 'p'.*'q'/, /slug is 's'.*'r'/]);
  const wrong = JSON.stringify({ ...head, recordStructure: [field({ type: 'X' })] });
  t.match(problems(wrong, { projectSlug: 'q', slug: 's' }), [/unknown type/, /projectSlug/]);
  t.equal(cache.read(text, path), first);
});

t.test('a share of the memory that is no whole number of bytes, which ended the start', async (t) => {
  const cache = new StructureCache({ scopes: [], bytes: 61_709_130.5 });
  const text = JSON.stringify({ ...head, recordStructure: [field()] });
  t.ok(cache.read(text, { projectSlug: 'p', slug: 's' }));
});

const cachedPath = { projectSlug: 'p', slug: 's' };
const cachedText = structureOf('p', 's', [{ name: 'a', type: 'TEXT' }]);
const resources = `{"mustExistSpaceStructures":[${cachedText}]}`;

t.test('a structure is one object, whether it came by itself or within another header', async (t) => {
  const first = new StructureCache({ scopes: [], bytes: 1e6 });
  const within = first.readParsed(JSON.parse(cachedText), cachedPath, resources);
  t.equal(first.read(cachedText, cachedPath), within);
  t.equal(first.readParsed(JSON.parse(cachedText), cachedPath, resources), within);

  const second = new StructureCache({ scopes: [], bytes: 1e6 });
  const header = second.read(cachedText, cachedPath);
  t.equal(second.readParsed(JSON.parse(cachedText), cachedPath, resources), header);
});

t.test('one that comes without its text is not kept, and one for another space is refused', async (t) => {
  const cache = new StructureCache({ scopes: [], bytes: 1e6 });
  t.not(cache.readParsed(JSON.parse(cachedText), cachedPath), cache.read(cachedText, cachedPath));
  const other = { projectSlug: 'p', slug: 'other' };
  t.throws(() => cache.read(cachedText, other), { code: 'invalid_structure' });
  cache.readParsed(JSON.parse(cachedText), cachedPath, resources);
  t.throws(() => cache.readParsed(JSON.parse(cachedText), other, resources), { code: 'invalid_structure' });
});
