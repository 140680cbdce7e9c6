import t from 'tap';
import { ApiError } from '../../common/errors/api-error.ts';
import { parseSearch } from '../../query/input/parse-search.ts';
import { parseStructure } from '../../query/structure/parse-structure.ts';
import type { Structure } from '../../query/structure/structure.ts';
import { structureOf } from '../services/record-client.ts';
import { thrownBy } from '../services/thrown-by.ts';

const structure = parseStructure(
  structureOf('p', 's', [
    { name: 'fullName', slug: 'full-name', type: 'TEXT' },
    { name: 'city', type: 'TEXT' },
    { name: 'age', type: 'NUMBER' },
    { name: 'secret', type: 'TEXT', hashed: true },
  ]),
).structure as Structure;

type Pairs = [string, string][];
const problems = (pairs: Pairs): readonly string[] => {
  const error = thrownBy(() => parseSearch(pairs, structure));
  if (!(error instanceof ApiError)) throw new Error(`not refused: ${JSON.stringify(pairs)}`);
  t.match(error, { status: 400, code: 'invalid_condition' });
  return error.problems;
};
const slugs = (pairs: Pairs): string[] => parseSearch(pairs, structure).fields.map(({ slug }) => slug);

t.test('fields by name and slug, in both spellings, once each', async (t) => {
  t.strictSame(
    slugs([
      ['searchableFields[]', 'fullName'],
      ['searchableFields', 'city'],
      ['searchText', '%_\\'],
      ['searchableFields[]', 'full-name'],
    ]),
    ['full-name', 'city'],
  );
  const pairs: Pairs = [
    ['searchText', ''],
    ['searchableFields', 'city'],
  ];
  t.equal(parseSearch(pairs, structure).text, '');
});

t.test('what is not right', async (t) => {
  t.match(problems([]), [/searchableFields is missing/, /searchText is missing/]);
  t.match(problems([['searchText', 'x']]), [/searchableFields is missing/]);
  t.match(
    problems([
      ['searchText', 'x'],
      ['searchText', 'y'],
      ['searchableFields[]', 'nosuch'],
      ['searchableFields[]', 'age'],
      ['searchableFields[]', 'secret'],
      ['searchableFields[]', 'id'],
    ]),
    [/'nosuch'/, /'age'.*NUMBER/, /'secret'.*hashed/, /'id'/, /2 times/],
  );
  t.match(
    problems([
      ['searchText', 'x'.repeat(1001)],
      ['searchableFields', 'city'],
    ]),
    [/1001 characters/],
  );
  t.match(
    problems([
      ['searchText', 'x'],
      ...Array.from({ length: 101 }, (): [string, string] => ['searchableFields', 'city']),
    ]),
    [/101 searchableFields/],
  );
});
