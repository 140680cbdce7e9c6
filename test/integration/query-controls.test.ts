/** Order, page and fields in the address and in a body, the total, and what RFC 10008 says of QUERY. */
import t from 'tap';
import { ApiError } from '#kernel/errors/api-error.ts';
import { CorsPolicy } from '#server/http/cors.ts';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { type QueryCall, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { rejectionOf } from '../services/rejection-of.ts';

const json = { 'content-type': 'application/json' };

for (const singleWriter of [true, false]) {
  t.test(singleWriter ? 'a store of its own' : 'a store that others share', async (t) => {
    const { asked, wrap } = new FaultyDatabase();
    const harness = await queryHarnessFor(t, { singleWriter, wrap });
    const structure = structureOf('p', 'books', [
      { name: 'title', slug: 'the-title', type: 'TEXT' },
      { name: 'year', type: 'NUMBER' },
      { name: 'pages', type: 'NUMBER' },
      { name: 'home', type: 'OBJECT' },
      { name: 'a,b', slug: 'a-b', type: 'TEXT' },
      { name: '-score', slug: 'minus', type: 'NUMBER' },
      { name: 'password', type: 'TEXT', hashed: true },
    ]);
    const books = spaceOf(harness, 'p', 'books', structure);
    const inserted = (
      await books.insert([
        {
          title: 'A',
          year: 1,
          pages: 10,
          home: { city: 'Paris', zip: { code: 7 } },
          '-score': 3,
          password: 'x',
        },
        { title: 'B', year: 2, pages: 20, home: { city: null }, '-score': 2 },
        { title: 'C', year: 1, pages: 20, 'a,b': 'x', '-score': 1 },
        { title: 'D', pages: 20 },
      ])
    ).body as { id: string; title: string }[];
    const [a] = inserted;
    const call = (query: string, more: Partial<QueryCall> = {}) =>
      harness.call({ path: '/p/books', query, structure, ...more });
    const records = async (
      query: string,
      more: Partial<QueryCall> = {},
    ): Promise<Record<string, unknown>[]> => {
      const { status, body, problems } = await call(query, more);
      if (status !== 200) throw new Error(problems.join());
      return body;
    };
    const titles = async (query: string, more: Partial<QueryCall> = {}) =>
      (await records(query, more)).map(({ title }) => title).join('');

    t.test('$sort, $limit, $page and $after', async (t) => {
      // the second time from what is kept, or held in memory
      for (const round of ['first', 'again']) {
        for (const [query, expected] of [
          ['$sort=year,pages', 'ACBD'],
          ['$sort=-year,-pages', 'BCAD'],
          ['$sort=-pages&$sort=title', 'BCDA'],
          ['$sort[0]=-pages&$sort[1]=-the-title', 'DCBA'],
          ['$sort=pages,-createdAt', 'ADCB'],
          ['$sort=-id', 'DCBA'],
          ['$sort=--score', 'ABCD'],
          ['$sort=-score', 'CBAD'],
          ['$sort=-year,', 'BACD'],
          ['$sort=&$limit=2', 'AB'],
          ['$sort=-pages,title&$limit=2&$page=2', 'DA'],
          ['pages=20&$sort=-year,title&$limit=1&$page=2', 'C'],
          [`$limit=2&$after=${a?.id}`, 'BC'],
          [`$sort=id&$limit=2&$after=${a?.id}`, 'BC'],
          [`$sort=-pages,title&$limit=9&$after={"id":"${inserted[1]?.id}","values":[20,"B"]}`, 'CDA'],
          [`$sort=year&$limit=9&$after={"id":"${a?.id}","value":1}`, 'CBD'],
          ['year[gte]=1&$sort=-title', 'CBA'],
          ['$or[0][title]=A&$or[1][title]=D&$sort=-title', 'DA'],
        ] as const) {
          t.equal(await titles(query), expected, `${query} ${round}`);
        }
      }
      t.match(await call('$sort=-title', { path: '/p/books/_single_' }), { body: { title: 'D' } });
      const search = 'searchText=&searchableFields=title&$sort=-title&$limit=2&$page=2';
      t.equal(await titles(search, { path: '/p/books/search' }), 'BA');
    });

    t.test('$select', async (t) => {
      const [first] = inserted;
      const id = first?.id;
      for (const round of ['first', 'again']) {
        for (const [query, expected] of [
          ['title=A&$select=year,the-title', { id, year: 1, title: 'A' }],
          ['title=A&$select=id', { id }],
          ['title=A&$select[0]=year&$select[1]=home.city', { id, year: 1, home: { city: 'Paris' } }],
          ['title=A&$select=home.zip.code,home.none', { id, home: { zip: { code: 7 }, none: null } }],
          ['title=C&$select=a,b', { id: inserted[2]?.id, 'a,b': 'x' }],
          ['title=C&$select=home.city&$select=year', { id: inserted[2]?.id, home: { city: null }, year: 1 }],
          ['year[gt]=1&$select=title,home', { id: inserted[1]?.id, title: 'B', home: { city: null } }],
        ] as const) {
          t.strictSame(await records(query), [expected], `${query} ${round}`);
          t.strictSame((await call(query, { path: '/p/books/_single_' })).body, expected, `${query} one`);
        }
      }
      const options = JSON.stringify({ select: ['title'] });
      t.strictSame(await records('year=2', { headers: { options } }), [{ id: inserted[1]?.id, title: 'B' }]);
      const update = { method: 'POST', path: '/p/books/update', body: { pages: 20 }, headers: { options } };
      t.match(
        (await call('title=B', update)).body,
        { title: 'B', year: 2 },
        'a write answers the whole record',
      );
    });

    t.test('the engine reads no field that is not selected', async (t) => {
      harness.forget();
      const names = (sql: string) =>
        [...new Set(sql.match(/\b(?:[tnb]\d+|_doc|_created_at|_updated_at)\b/g))].sort();
      for (const path of ['/p/books', '/p/books/_single_']) {
        asked.length = 0;
        await call('year[gt]=0&$select=title,home.city&$limit=1001', { path });
        const of = asked.filter(({ verb, table }) => verb === 'SELECT' && table === 'records');
        if (singleWriter && of.length === 0) continue;
        const sql = of.map((asked) => asked.sql).join();
        t.strictSame(names(sql), ['n0', 't0', 't1'], sql);
      }
      if (!singleWriter) t.ok(asked.length > 0);
    });

    t.test('$count=exact', async (t) => {
      const total = async (query: string, more: Partial<QueryCall> = {}) =>
        (await harness.respond({ path: '/p/books', query, structure, ...more })).headers?.[
          'sluice-total-count'
        ];
      for (const round of ['first', 'again']) {
        t.equal(await total('$count=exact'), '4', round);
        t.equal(await total('$count=exact&$limit=1&$page=9'), '4');
        t.equal(await total(`$count=exact&$limit=1&$after=${a?.id}&pages=20`), '3');
        t.equal(await total('$count=exact&year[gt]=1'), '1');
        t.equal(await total('$count=exact&title=nobody'), '0');
        t.equal(await total('title=A'), undefined, 'never by itself');
      }
      const search = { path: '/p/books/search' };
      t.equal(await total('$count=exact&searchText=a&searchableFields=title&$limit=1', search), '1');
      t.equal(
        await total('$count=exact', {
          path: '/p/none',
          structure: structureOf('p', 'none', fieldsOf('a TEXT')),
        }),
        '0',
      );
      const { body } = await books.insertOne({ title: 'E', pages: 1 });
      t.equal(await total('$count=exact'), '5', 'what was written counts');
      await books.deleteOneById(body.id);
      t.equal(await total('$count=exact'), '4');
    });

    t.test('in a body', async (t) => {
      const bodies: readonly (readonly [unknown, string])[] = [
        [{ pages: 20, $sort: '-year,title', $limit: 2 }, 'BC'],
        [
          { pages: { gte: 20 }, $sort: [{ by: 'year', order: 'desc' }, '-title'], $limit: '2', $page: 2 },
          'D',
        ],
        [
          [
            ['$sort', '-title'],
            ['pages', 20],
          ],
          'DCB',
        ],
        [{ $after: { id: a?.id }, $limit: 9 }, 'BCD'],
      ];
      for (const [body, expected] of bodies) {
        for (const way of [
          { method: 'QUERY', headers: json },
          { method: 'POST', path: '/p/books/_find_' },
        ])
          t.equal(await titles('', { ...way, body }), expected, JSON.stringify(body));
      }
      const some = { method: 'QUERY', headers: json, body: { title: 'A', $select: ['year'] } };
      t.strictSame(await records('', some), [{ id: a?.id, year: 1 }]);
      const other = { ...some, body: { title: 'A', $select: ['pages'] } };
      t.strictSame(
        await records('', other),
        [{ id: a?.id, pages: 10 }],
        'what is kept is told apart by the body',
      );
      const sort = { method: 'QUERY', headers: json, body: { pages: 20 } };
      t.equal(await titles('$sort=-title', sort), 'DCB', 'conditions in the body, the rest in the address');
    });

    t.test('what is not right', async (t) => {
      const bad: readonly (readonly [query: string, options: object | null, RegExp])[] = [
        ['$sort=nosuch', null, /\$sort.*'nosuch'/],
        ['$sort=password', null, /\$sort.*hashed/],
        ['$sort=year,-year', null, /\$sort.*'year' again/],
        ['$limit=0', null, /\$limit/],
        ['$limit=1&$limit=2', null, /\$limit is given 2 times/],
        ['$page=2', null, /limit/],
        ['$limit=1&$page=x', null, /\$page/],
        ['$limit=1&$after={', null, /\$after/],
        ['$limit=1&$after=', null, /\$after/],
        [`$limit=1&$page=1&$after=${a?.id}`, null, /\$page and \$after/],
        [`$sort=year&$limit=1&$after=${a?.id}`, null, /\$after/],
        ['$select=', null, /\$select/],
        ['$select=password', null, /\$select.*hashed/],
        ['$select=title,nosuch', null, /\$select.*'nosuch'/],
        ['$select=title.x', null, /\$select/],
        ['$count=about', null, /\$count/],
        ['$sort=year', { sort: { by: 'title' } }, /\$sort and sort of the options header/],
        ['$select=year', { select: ['title'] }, /\$select and select/],
        ['$limit=1', { pagination: { limit: 2 } }, /\$limit and pagination.limit/],
        [`$after=${a?.id}`, { pagination: { limit: 2, after: { id: 'x' } } }, /\$after and pagination.after/],
        [
          'title=A&$select=title',
          { populate: [{ space: 'x', fields: { foreignKey: 'id', localKey: 'a,b', newField: 'n' } }] },
          /select leaves out/,
        ],
      ];
      for (const [query, options, problem] of bad) {
        const answer = await call(
          query,
          options === null ? {} : { headers: { options: JSON.stringify(options) } },
        );
        t.match(answer, { status: 400, code: 'invalid_options' }, query);
        t.match(answer.problems.join(), problem, query);
      }
      const both = '$select=nosuch&year[gt]=x&$sort=password';
      const all = [
        /^Options: \$select names 'nosuch'/,
        /^Options: \$sort/,
        /'year\[gt\]' should be a valid number/,
      ];
      for (const path of ['', '/_count_', '/_single_']) {
        const answer = await call(both, { path: `/p/books${path}` });
        t.match(answer, { status: 400, code: 'invalid_options', problems: { length: 3 } }, path);
        for (const problem of all)
          t.ok(
            answer.problems.some((one) => problem.test(one)),
            `${path} ${problem}`,
          );
      }
      t.match((await call(both, { path: '/p/books/search' })).problems, { length: 5 }, 'and what it lacks');
      const change = { method: 'POST', path: '/p/books/update', body: { year: 'x', nosuch: 1 } };
      t.match((await call(both, change)).problems, { length: 5 }, 'and what is wrong with its body');
      t.equal(
        await titles('$page=2', { headers: { options: '{"pagination":{"limit":3}}' } }),
        'D',
        'each once',
      );
      for (const query of ['$Sort=year', '$where=1', '$limit[0]=1', '$or[0][$limit]=1', '$']) {
        t.match(await call(query), { status: 400, code: 'invalid_condition' }, query);
      }
      const update = { method: 'POST', path: '/p/books/update', body: { pages: 1 } };
      t.match(
        await call('$sort=-year&$limit=1', update),
        { code: 'no_conditions' },
        'a control is no condition',
      );
      t.match((await call('pages=20&$sort=-title', { ...update, body: { pages: 20 } })).body, { title: 'D' });
    });

    t.test('a field that is called like a control', async (t) => {
      const odd = structureOf('p', 'odd', [
        { name: '$select', type: 'TEXT' },
        { name: 'sort', slug: '$sort', type: 'NUMBER' },
      ]);
      const space = spaceOf(harness, 'p', 'odd', odd);
      await space.insert([
        { $select: 'x', sort: 1 },
        { $select: 'y', sort: 2 },
      ]);
      const find = async (query: string) =>
        (await harness.call({ path: '/p/odd', query, structure: odd })).body.map(
          ({ sort }: { sort: number }) => sort,
        );
      t.strictSame(await find('$select=y'), [2]);
      t.strictSame(await find('$sort=1'), [1]);
      t.strictSame(await find('$limit=1'), [1], 'the others are controls');
      const options = JSON.stringify({ select: ['$select'], sort: { by: '$sort', order: 'desc' } });
      const { body } = await harness.call({ path: '/p/odd', structure: odd, headers: { options } });
      t.strictSame(
        body.map(({ $select }: { $select: string }) => $select),
        ['y', 'x'],
      );
    });

    t.test('QUERY says what its body is', async (t) => {
      const query = (headers: Record<string, string>, body: unknown = { title: 'A' }) =>
        call('', { method: 'QUERY', headers, body });
      for (const type of [
        'application/json',
        'Application/JSON; charset=UTF-8',
        'application/json;charset="utf-8"',
      ])
        t.match(await query({ 'content-type': type }), { status: 200 }, type);
      t.match(await query({}), { status: 200 }, 'as clients send it');
      for (const type of ['', 'json', 'application/', 'application/json, text/plain', 'application/json;;x'])
        t.match(await query({ 'content-type': type }), { status: 400, code: 'wrong_content_type' }, type);
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/json; charset=latin1',
      ]) {
        const headers = { 'content-type': type };
        t.match(await query(headers), { status: 415, code: 'unsupported_media_type' }, type);
        const refused = await rejectionOf(
          harness.respond({ method: 'QUERY', path: '/p/books', structure, headers, body: {} }),
        );
        t.equal(refused instanceof ApiError && refused.headers?.['accept-query'], '"application/json"');
      }
      t.match(
        await query(json, 'title=A'),
        { status: 400, code: 'invalid_body' },
        'another body than it says',
      );
      for (const path of ['/p/books', '/p/books/_single_']) {
        const { headers } = await harness.respond({ path, structure });
        t.equal(headers?.['accept-query'], '"application/json"');
      }
      t.match(await call('', { method: 'POST', path: '/p/books/_find_', body: { title: 'A' } }), {
        status: 200,
      });
    });

    t.test('Server-Timing is there when it is asked for', async (t) => {
      const form =
        /^parse;dur=\d+\.\d{3}, cache;dur=\d+\.\d{3}, engine;dur=\d+\.\d{3}(?:, source;desc="(?:memory|index|scan)")?$/;
      for (const query of ['title=A', 'title=A', 'year[gt]=0&$count=exact', 'title=nobody']) {
        for (const path of ['/p/books', '/p/books/_single_']) {
          const ask = { path, query, structure };
          const timed = await harness.respond({ ...ask, headers: { 'sluice-timing': 'true' } });
          t.match(timed.headers?.['server-timing'], form);
          t.equal((await harness.respond(ask)).headers?.['server-timing'], undefined);
        }
      }
      const body = { values: { n: 'count' } };
      const nowhere = structureOf('p', 'nowhere', fieldsOf('title TEXT'));
      for (const ask of [
        { path: '/p/books/_count_', structure },
        { path: '/p/books/_aggregate_', structure, body },
        { path: '/p/nowhere/_count_', structure: nowhere },
        { path: '/p/nowhere/_aggregate_', structure: nowhere, body },
      ]) {
        const timed = await harness.respond({ ...ask, headers: { 'sluice-timing': 'true' } });
        t.match(timed.headers?.['server-timing'], form, ask.path);
        t.equal((await harness.respond(ask)).headers?.['server-timing'], undefined);
      }
    });

    t.test('the time of a body counts as that of reading the request', async (t) => {
      const time = performance.now();
      let steps = 0;
      // each look at the clock is a second later
      t.intercept(performance, 'now', { value: () => time + 1000 * steps++ });
      for (const [path, body] of [
        ['/p/books/_count_', { title: 'A' }],
        ['/p/books/_aggregate_', { values: { n: 'count' } }],
        ['/p/books', { title: 'A' }],
      ] as const) {
        const ask = { method: 'QUERY', path, structure, body, headers: { 'sluice-timing': 'true' } };
        const { headers } = await harness.respond(ask);
        t.match(headers?.['server-timing'], /^parse;dur=[1-9]\d{3}\./, path);
      }
    });
  });
}

t.test('a page of another origin may send QUERY, and read what is answered', async (t) => {
  const policy = new CorsPolicy(['*']);
  const asked: Readonly<Record<string, string>> = {
    origin: 'https://a.example',
    'access-control-request-method': 'QUERY',
    'access-control-request-headers': 'content-type,sluice-timing',
  };
  const request = { header: (name: string) => asked[name] };
  const preflight = policy.preflightHeaders(request, ['GET', 'QUERY']);
  t.match(preflight, {
    'access-control-allow-methods': /QUERY/,
    'access-control-allow-headers': 'content-type,sluice-timing',
  });
  const { 'access-control-expose-headers': exposed } = policy.answerTo(request).headers;
  for (const name of ['accept-query', 'sluice-total-count', 'server-timing']) t.match(exposed, name);
});
