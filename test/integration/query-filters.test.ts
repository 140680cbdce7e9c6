/** find, findOne and updateOne by operators and groups, over HTTP. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

for (const singleWriter of [true, false]) {
  t.test(singleWriter ? 'a store of its own' : 'a store that others share', async (t) => {
    const harness = await queryHarnessFor(t, { singleWriter });
    const structure = structureOf(
      'p',
      'books',
      fieldsOf('title TEXT, year NUMBER, tags ARRAY, home OBJECT, password TEXT hashed'),
    );
    const books = spaceOf(harness, 'p', 'books', structure);
    await books.insert([
      { title: 'Notes', year: 1843, tags: ['math', 1], home: { city: 'London' }, password: 'one' },
      { title: 'notes on it', year: 1852, tags: ['1'], home: { city: null }, password: 'two' },
      { title: 'Zürich', year: 1900, tags: [] },
      { year: 1843.5 },
    ]);
    const get = (query: string, path = '', headers = {}) =>
      harness.call({ path: `/p/books${path}`, query, structure, headers });
    const years = async (query: string, headers = {}) =>
      (
        (
          await get(query, '', headers).then((a) =>
            a.status === 200 ? a : Promise.reject(new Error(JSON.stringify(a))),
          )
        ).body as { year: number }[]
      ).map(({ year }) => year);

    const cases: readonly (readonly [query: string, body: unknown, years: readonly number[]])[] = [
      ['year[gte]=1843.5&year[lt]=1900', { year: { gte: 1843.5, lt: 1900 } }, [1852, 1843.5]],
      ['title[in]=Notes&title[in]=Z%C3%BCrich', { title: { in: ['Notes', 'Zürich'] } }, [1843, 1900]],
      ['title[nin]=Notes', { title: { nin: ['Notes'] } }, [1852, 1900]],
      ['title[ne]=Notes', [['title', 'ne', 'Notes']], [1852, 1900]],
      ['$not[0][title]=Notes', { $not: [{ title: 'Notes' }] }, [1852, 1900, 1843.5]],
      ['title[exists]=false', { title: { exists: false } }, [1843.5]],
      ['title[startsWith]=Not', { title: { startsWith: 'Not' } }, [1843]],
      ['title[istartsWith]=NOT', { title: { istartsWith: 'NOT' } }, [1843, 1852]],
      ['title[icontains]=%C3%9CRI', { title: { icontains: 'ÜRI' } }, [1900]],
      ['title[endsWith]=it', { title: { endsWith: 'it' } }, [1852]],
      ['title[contains]=%25', { title: { contains: '%' } }, []],
      ['title[gt]=Z', { title: { gt: 'Z' } }, [1852, 1900]],
      ['tags[has]=1', { tags: { has: 1 } }, [1843]],
      ['tags[has]=%221%22', { tags: { has: '1' } }, [1852]],
      ['tags[hasAny]=math&tags[hasAny]=%221%22', { tags: { hasAny: ['math', '1'] } }, [1843, 1852]],
      ['tags[hasAll]=math&tags[hasAll]=1', { tags: { hasAll: ['math', 1] } }, [1843]],
      ['tags[size]=0', { tags: { size: 0 } }, [1900]],
      ['home.city=London', { 'home.city': 'London' }, [1843]],
      ['home.city[exists]=false', { 'home.city': { exists: false } }, [1852, 1900, 1843.5]],
      [
        '$or[0][title]=Notes&$or[1][year][gt]=1899',
        { $or: [{ title: 'Notes' }, { year: { gt: 1899 } }] },
        [1843, 1900],
      ],
      [
        'year=1843&$or[0][title]=Notes&$or[1][title]=x',
        [
          ['year', 1843],
          ['$or', [{ title: 'Notes' }, { title: 'x' }]],
        ],
        [1843],
      ],
      [
        'createdAt[gt]=2020-01-01&year[lt]=1850',
        { createdAt: { gt: '2020-01-01' }, year: { lt: 1850 } },
        [1843, 1843.5],
      ],
      ['createdAt[gt]=2200-01-01', { createdAt: { gt: '2200-01-01' } }, []],
    ];
    t.test('by the query of GET, by the body of QUERY and of _find_', async (t) => {
      // the second time from what is kept or held in memory
      for (const round of ['first', 'again']) {
        for (const [query, body, expected] of cases) {
          t.strictSame(await years(query), expected, `${query} ${round}`);
          const bodies = [
            await harness.call({ method: 'QUERY', path: '/p/books', structure, body }),
            await harness.call({ method: 'POST', path: '/p/books/_find_', structure, body }),
          ];
          for (const { body: records } of bodies)
            t.strictSame(
              (records as { year: number }[]).map(({ year }) => year),
              expected,
              JSON.stringify(body),
            );
        }
      }
    });

    t.test('with sorts, pages, paramRelationship, hashed fields and a search', async (t) => {
      const options = (value: object) => ({ options: JSON.stringify(value) });
      const sorted = options({ sort: { by: 'year', order: 'desc' }, pagination: { limit: 2, page: 1 } });
      t.strictSame(await years('year[lt]=1900', sorted), [1852, 1843.5]);
      const either = options({ paramRelationship: 'Or' });
      t.strictSame(await years('title=Notes&year[gt]=1899', either), [1843, 1900]);
      t.strictSame(await years('year[lt]=1900&password=two'), [1852]);
      t.strictSame(await years('year[lt]=1900&password=three'), []);
      const found = await get('searchText=notes&searchableFields[]=title&year[gt]=1850', '/search');
      t.strictSame(
        (found.body as { year: number }[]).map(({ year }) => year),
        [1852],
      );
    });

    t.test('findOne and updateOne', async (t) => {
      t.match(await get('year[gt]=1843', '/_single_'), { status: 200, body: { year: 1852 } });
      const update = {
        method: 'POST',
        path: '/p/books/update',
        query: 'year[gt]=1899',
        structure,
        body: { title: 'new' },
      };
      t.match(await harness.call(update), { status: 200, body: { year: 1900, title: 'new' } });
      t.strictSame(await years('title[eq]=new'), [1900], 'what was kept before is not answered');
      t.strictSame(await years('title[startsWith]=Z'), []);
      t.match(await harness.call({ ...update, query: 'year[gt]=5000' }), { code: 'no_match' });
    });

    t.test('what is not right', async (t) => {
      const wrong = 'year[gt3]=1 year[gt]=x password[in]=a $or[0][x]=1 home.city[gt]=1 tags[size]=a';
      for (const query of wrong.split(' '))
        t.match(await get(query), { status: 400, code: 'invalid_condition' }, query);
      for (const body of [
        { year: { gt: '1' } },
        { year: {}, x: 1 },
        { $or: [1] },
        { $or: {} },
        { $or: [{}] },
        { year: {} },
        [['year', 'gt']],
        [['year', 'gt', 1, 2]],
      ])
        t.match(
          await harness.call({ method: 'QUERY', path: '/p/books', structure, body }),
          { status: 400 },
          JSON.stringify(body),
        );
    });
  });
}
