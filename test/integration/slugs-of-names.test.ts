/** Slugs that fields get from names: of inserts, of samples and of files. */
import t from 'tap';
import { slugOfName } from '#kernel/ids/slug-of-name.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);
const creating = { 'auto-create-project': 'true', 'auto-create-record-space': 'true' };
const inferring = { ...creating, 'infer-structure': 'true' };
const stored = { 'use-pre-stored-structure': 'true' };
const slugsOf = async (space: string): Promise<Record<string, string>> => {
  const { body } = await harness.call({ path: `/_projects_/p/spaces/${space}` });
  return Object.fromEntries(body.fields.map(({ name, slug }: Record<string, string>) => [name, slug]));
};

/** The last ones are as the published client has them. */
const expected = {
  'Order No': 'order-no',
  Größe: 'größe',
  Übung: 'übung',
  Name: 'name',
  SKU: 'sku',
  OrderDate: 'order-date',
  ' unit  price ': 'unit-price',
  '-rate': 'rate',
  ID: 'id-2',
  firstName: 'first-name',
  aBC: 'a-b-c',
  größeMax: 'größe-max',
  snake_case: 'snake_case',
  'kebab-case': 'kebab-case',
};
const sample = Object.fromEntries(Object.keys(expected).map((name) => [name, 'x']));

t.test('a name with spaces or capitals gets a slug without a dash before it', async (t) => {
  for (const [name, slug] of Object.entries(expected)) t.equal(slugOfName(name), slug, name);
  for (const odd of ['-', '--', '- -']) t.equal(slugOfName(odd), 'field');
  t.equal(slugOfName(' '), '');
});

t.test('inserts and samples give the same slugs', async (t) => {
  const { body: answered } = await harness.call({ path: '/p/a/get-inferred-structure', body: sample });
  t.strictSame(
    Object.fromEntries(
      answered.recordStructure.map(({ name, slug }: Record<string, string>) => [name, slug]),
    ),
    expected,
  );
  t.equal((await harness.call({ path: '/p/b', body: [sample], headers: inferring })).status, 200);
  t.strictSame(await slugsOf('b'), expected);
  t.match((await harness.call({ path: '/p/b', query: 'order-no=x', headers: stored })).body, [
    { 'Order No': 'x' },
  ]);
});

t.test('two names with one slug are refused by it', async (t) => {
  const twice = await harness.call({ path: '/p/c', body: [{ Name: 'a', name: 'b' }], headers: inferring });
  t.match(twice, { status: 400, problems: [/repeats 'name' as the name/, /repeats 'name' as the slug/] });
});

t.test('slugs that are stored stay as they are', async (t) => {
  const old = spaceOf(harness, 'p', 'old', [
    ...fieldsOf('-name TEXT'),
    { name: 'Order No', slug: '-order -no', type: 'TEXT' },
  ]);
  await old.insert([{ 'Order No': '1' }]);
  const more = { 'Order No': '2', 'Unit Price': 3 };
  t.equal((await harness.call({ path: '/p/old', body: [more], headers: inferring })).status, 200);
  t.match(await slugsOf('old'), { 'Order No': '-order -no', 'Unit Price': 'unit-price' });
  t.match((await harness.call({ path: '/p/old', query: 'Order No=2', headers: stored })).body, [more]);
  // a sample says the whole structure, and does not rename what is stored
  const sampled = await harness.call({ path: '/p/old/set-inferred-structure', body: { 'Order No': '2' } });
  t.match(sampled, {
    status: 200,
    body: { recordStructure: [{ slug: '-name' }, { slug: '-order -no' }, {}] },
  });
  t.match(await slugsOf('old'), { 'Order No': '-order -no' });
});
