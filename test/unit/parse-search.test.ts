import t from 'tap';
import { parseSearch } from '#query/input/parse-search.ts';
import { parseQueryString } from '#server/http/query-string.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { problemsOf } from '../services/thrown-by.ts';

const structure = storedStructure([
  { name: 'fullName', slug: 'full-name', type: 'TEXT' },
  { name: 'city', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
  { name: 'secret', type: 'TEXT', hashed: true },
]);

const read = (query: string) => parseSearch(parseQueryString(query), structure);
const problems = (query: string) => problemsOf(() => read(query), 'invalid_condition');

t.test('fields by name and slug, in both spellings, once each', async (t) => {
  const { fields } = read(
    'searchableFields[]=fullName&searchableFields=city&searchText=%25_&searchableFields[]=full-name',
  );
  t.strictSame(
    fields.map(({ slug }) => slug),
    ['full-name', 'city'],
  );
  t.equal(read('searchText=&searchableFields=city').text, '');
});

t.test('what is not right', async (t) => {
  t.match(problems(''), [/searchableFields is missing/, /searchText is missing/]);
  t.match(problems('searchText=x'), [/searchableFields is missing/]);
  const wrong = ['nosuch', 'age', 'secret', 'id'].map((name) => `&searchableFields[]=${name}`);
  t.match(problems(`searchText=x&searchText=y${wrong.join('')}`), [
    ...[/'nosuch'/, /'age'.*NUMBER/, /'secret'.*hashed/, /'id'/, /2 times/],
  ]);
  t.match(problems(`searchText=${'x'.repeat(1001)}&searchableFields=city`), [/1001 characters/]);
  t.match(problems(`searchText=x${'&searchableFields=city'.repeat(101)}`), [/101 searchableFields/]);
});
