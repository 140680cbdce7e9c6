import t from 'tap';
import { readRecordHeaders } from '#query/input/record-headers.ts';
import { parseOptions } from '#records/input/parse-options.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { problemsOf } from '../services/thrown-by.ts';

const structure = storedStructure([
  { name: 'firstName', slug: 'first-name', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
  { name: 'secret', type: 'TEXT', hashed: true },
]);

const read = (options: unknown) =>
  parseOptions(typeof options === 'string' ? options : JSON.stringify(options), structure);

t.test('what is absent has its default', async (t) => {
  const none = { page: null, pageInHeader: false, sort: null, select: null };
  const defaults = { paramRelationship: 'And', ...none, count: false };
  t.strictSame(parseOptions(undefined, structure), defaults);
  t.strictSame(read(''), defaults);
  t.strictSame(read({}), defaults);
  t.strictSame(read({ token: 't', populate: ['x'], anything: {}, sort: null, pagination: null }), defaults);
});

t.test('relationship, pages and order', async (t) => {
  t.equal(read({ paramRelationship: 'Or' }).paramRelationship, 'Or');
  t.strictSame(read({ pagination: { limit: 10, page: 3 } }).page, { limit: 10, offset: 20 });
  t.strictSame(read({ pagination: { limit: 10 } }).page, { limit: 10, offset: 0 });
  t.strictSame(
    read({ pagination: { limit: '10', page: '3' } }).page,
    { limit: 10, offset: 20 },
    'digits as text',
  );
  t.equal(read({ pagination: { limit: 10, page: 3 } }).pageInHeader, true);
  t.equal(read({ pagination: { limit: 10 } }).pageInHeader, false);
  const target = structure.lookup.get('firstName');
  t.ok(target);
  t.strictSame(read({ sort: { by: 'firstName', order: 'desc' } }).sort, [{ target, descending: true }]);
  t.strictSame(read({ sort: { by: 'first-name' } }).sort, [{ target, descending: false }]);
  for (const key of ['id', 'createdAt', 'updatedAt']) {
    t.strictSame(read({ sort: { by: key, order: 'asc' } }).sort, [{ target: key, descending: false }]);
  }
});

t.test('several sorts, and what is selected', async (t) => {
  const [firstName, age] = ['firstName', 'age'].map((name) => structure.lookup.get(name));
  t.strictSame(read({ sort: [{ by: 'age', order: 'desc' }, { by: 'first-name' }, { order: 'asc' }] }).sort, [
    { target: age, descending: true },
    { target: firstName, descending: false },
  ]);
  t.equal(read({ sort: [] }).sort, null);
  const { parts = [], end } = read({ select: ['first-name', 'createdAt'] }).select ?? {};
  t.strictSame(
    [...parts.map(({ before, target }) => [before, target]), end],
    [['{"id":', 'id'], [',"firstName":', firstName], [',"createdAt":', 'createdAt'], '}'],
  );
  const after = { id: 'a', values: [7, null] };
  const sort = [{ by: 'age' }, { by: 'firstName' }];
  t.strictSame(read({ sort, pagination: { limit: 1, after } }).page?.after, after);
});

t.test('every problem is listed', async (t) => {
  const problems = (options: unknown) => problemsOf(() => read(options), 'invalid_options');
  for (const text of ['{', '[]', 'null', '"And"', '7', '[['.repeat(9999)]) t.equal(problems(text).length, 1);
  t.match(
    problems({
      paramRelationship: 'Xor',
      pagination: { limit: 0, page: '1a' },
      sort: { by: 'nosuch', order: 'up' },
    }),
    [/paramRelationship/, /limit/, /page/, /order/, /nosuch/],
  );
  const noNumbers = [0, -1, 1.5, '', '0', '-1', '1.5', ' 1', '1e3', '9'.repeat(16), ['1'], null, true];
  for (const page of [...noNumbers, 2 ** 53, 1e300]) {
    t.match(problems({ pagination: { limit: 1, page } }), [/pagination.page/], String(page));
    if (page !== null) t.match(problems({ pagination: { limit: page, page: 1 } }), [/pagination.limit/]);
  }
  t.match(problems({ pagination: { page: 1 } }), [/limit/]);
  t.match(problems({ pagination: [] }), [/pagination/]);
  const none = { page: null, sort: null };
  t.match(read({ pagination: {}, sort: { order: 'desc' } }), none, 'what is not said asks for nothing');
  for (const by of ['', null]) t.match(read({ sort: { by } }), none);
  t.match(problems({ pagination: { limit: 2 ** 52, page: 3 } }), [/beyond/]);
  t.match(problems({ sort: 'age' }), [/sort/]);
  for (const by of [1, {}, 'age`; DROP', '__proto__', 'constructor', '_id', 'secret']) {
    t.match(problems({ sort: { by, order: 'asc' } }), [/sort.by/], String(by));
  }
  t.match(problems({ sort: [{ by: 'age' }, { by: 'secret' }, 7, { by: 'age' }] }), [
    /sort\[1\].by.*hashed/,
    /sort\[2\]/,
    /sort\[3\].*again/,
  ]);
  t.match(problems({ sort: new Array(11).fill({ by: 'age' }) }), [/at most 10/]);
  const many = new Array(1001).fill('age');
  for (const select of ['age', [], {}, [1], [null], ['secret'], ['nosuch'], ['age.x'], many])
    t.match(problems({ select }), [/^Options: select/], JSON.stringify(select).slice(0, 40));
  const sort = [{ by: 'age' }, { by: 'firstName' }];
  const both = { value: 7, values: [7, 'a'] };
  for (const more of [{ value: 7 }, { values: [7] }, { values: 7 }, { values: [7, 7] }, both, {}])
    t.match(problems({ sort, pagination: { limit: 1, after: { id: 'a', ...more } } }), [/pagination.after/]);
  for (const order of ['ASC', 'up', 1, null, '__proto__']) {
    t.match(problems({ sort: { by: 'age', order } }), [/sort.order/], String(order));
  }
});

t.test('the fixed headers', async (t) => {
  const readAll = (headers: Record<string, string>) =>
    readRecordHeaders({ header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined) });
  const absent = {
    autoCreateProject: true,
    autoCreateRecordSpace: true,
    clearAllSpaces: false,
    mutate: true,
    usePreStoredStructure: false,
    inferStructure: false,
  };
  t.strictSame(readAll({}), absent);
  t.strictSame(
    readAll({
      'auto-create-project': 'false',
      'auto-create-record-space': 'false',
      'clear-all-spaces': 'true',
      mutate: 'false',
      'use-pre-stored-structure': 'true',
      'infer-structure': 'false',
    }),
    {
      autoCreateProject: false,
      autoCreateRecordSpace: false,
      clearAllSpaces: true,
      mutate: false,
      usePreStoredStructure: true,
      inferStructure: false,
    },
  );
  t.equal(readAll({ 'infer-structure': 'true' }).inferStructure, true);
  t.strictSame(readAll({}), absent, 'what the request before had is not taken over');
  const problems = (headers: Record<string, string>) => problemsOf(() => readAll(headers), 'invalid_header');
  t.match(problems({ 'clear-all-spaces': '' }), [/clear/], 'an empty one is there');
  t.match(
    problems({
      'auto-create-project': '1',
      'auto-create-record-space': 'TRUE',
      'clear-all-spaces': '',
      mutate: 'perhaps',
      'use-pre-stored-structure': 'true, true',
    }),
    [/project/, /record-space/, /clear/, /mutate/, /pre-stored/],
  );
});
