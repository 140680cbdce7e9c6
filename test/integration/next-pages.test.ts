/** Pages that say where the next one begins: all of them together are the whole list. */
import t, { type Test } from 'tap';
import { responseBytes } from '../services/fake-request.ts';
import { type QueryCall, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { full, seed, sized } from '../services/test-size.ts';

const random = seededRandom(seed);
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
const values = {
  name: ['Ada', 'é😀"\\', 'Ada ', '', '{', 'a\nb', null],
  age: [0, 1, 0.1, 5e-324, -1e300, 123456789012345680000, null],
  active: [true, false, null],
  tags: [[], [1, 'a'], ['b'], null],
  home: [{ city: 'Paris' }, { city: 'Lima', a: 1 }, null],
};
const names = Object.keys(values) as (keyof typeof values)[];
const sortable = [...names, 'id', 'createdAt', 'updatedAt'];
const fields = fieldsOf('name TEXT, age NUMBER, active BOOLEAN, tags ARRAY, home OBJECT');

interface Page {
  // biome-ignore lint/suspicious/noExplicitAny: records of any shape
  readonly records: any[];
  /** The query of the next page. */
  readonly link: string | null;
  /** For a body, or the options. */
  readonly after: string | null;
}

/** Where a server keeps the records, they are never in memory. */
const inBoth = full && process.env.SLUICE_TEST_SERVED === undefined;
const inStore = { resultBytes: 0, pending: { cacheBytes: 0 } };
for (const [what, options] of [
  ['in memory', {}],
  ...(inBoth ? ([['in the store', inStore]] as const) : []),
] as const)
  t.test(what, async (t) => {
    const harness = await queryHarnessFor(t, options);
    const space = spaceOf(harness, 'pages', 'people', fields);
    for (let times = 0; times < 4; times++) {
      const record = () => Object.fromEntries(names.map((name) => [name, oneOf<unknown>(values[name])]));
      t.equal((await space.insert(Array.from({ length: 10 }, record))).status, 200);
    }
    const ask = async (call: Partial<QueryCall>): Promise<Page> => {
      const { path, structure } = space;
      const { headers = {}, ...answer } = await harness.respond({ path, structure, ...call });
      const link = /^<\?([!-~]+)>; rel="next"$/.exec(headers.link ?? '')?.[1] ?? null;
      t.equal(link === null, headers.link === undefined);
      const records = JSON.parse(String(await responseBytes({ ...answer, headers })));
      return { records, link, after: headers['sluice-next-after'] ?? null };
    };
    const refused = async (call: Partial<QueryCall>) => {
      const { path, structure } = space;
      return harness.respond({ path, structure, ...call }).then(
        () => [200, ''],
        ({ status, code }) => [status, code],
      );
    };
    await pages(t, { ask, refused, isKept: what === 'in memory' });
  });

async function pages(
  t: Test,
  {
    ask,
    refused,
    isKept,
  }: {
    readonly ask: (call: Partial<QueryCall>) => Promise<Page>;
    readonly refused: (call: Partial<QueryCall>) => Promise<unknown[]>;
    /** Whether an answer may be a kept one. */
    readonly isKept: boolean;
  },
): Promise<void> {
  const idsOf = ({ records }: Page): string[] => records.map(({ id }) => id);

  t.test('a walk meets every record once', async (t) => {
    for (let round = 0; round < sized(200, 12); round++) {
      const by = [...new Set(Array.from({ length: Math.floor(random() * 4) }, () => oneOf(sortable)))];
      const $sort = by.map((name) => (random() < 0.5 ? `-${name}` : name));
      const sorted = $sort.length === 0 ? '' : `&$sort=${$sort.join()}`;
      const conditions = oneOf(['', 'active=true', 'name[ne]=Ada&']);
      const $limit = 1 + Math.floor(random() * 13);
      const whole = idsOf(await ask({ query: `${conditions}${sorted}` }));
      const walked: string[] = [];
      let query: string | null = `${conditions}${sorted}&$page=1&%24limit=${$limit}`;
      let count = 0;
      while (query !== null) {
        const page: Page = await ask({ query });
        t.equal(page.after, null);
        if (isKept) t.strictSame(await ask({ query }), page, 'asked again');
        t.equal(page.link !== null, page.records.length === $limit, 'a full page names the next one');
        walked.push(...idsOf(page));
        query = page.link;
        count++;
      }
      t.strictSame(walked, whole, `${conditions} ${$sort} by ${$limit}`);
      t.equal(count, Math.floor(whole.length / $limit) + 1);

      // the ways to ask differ before the records are read
      for (const method of isKept ? ['QUERY', 'POST'] : ['QUERY']) {
        const path = `/pages/people${method === 'POST' ? '/_find_' : ''}`;
        const inBody: string[] = [];
        let $after: string | null | undefined;
        while ($after !== null) {
          const body = { $limit, ...($sort.length > 0 && { $sort }), ...($after && { $after }) };
          const page: Page = await ask({ method, path, body, query: conditions });
          t.equal(page.link, null);
          inBody.push(...idsOf(page));
          $after = page.after;
        }
        t.strictSame(inBody, whole, method);
      }
    }
  });

  t.test('by the options', async (t) => {
    const sort = [{ by: 'name', order: 'desc' }, { by: 'age' }];
    const asked = (pagination?: object) => ({ headers: { options: JSON.stringify({ sort, pagination }) } });
    const whole = idsOf(await ask(asked()));
    const walked: string[] = [];
    let page = await ask(asked({ limit: 7, page: 1 }));
    for (; page.after !== null; page = await ask(asked({ limit: 7, after: JSON.parse(page.after) })))
      walked.push(...idsOf(page));
    t.strictSame([...walked, ...idsOf(page)], whole);
  });

  t.test('options that say where a page begins go with no address that says it too', async (t) => {
    const whole = idsOf(await ask({}));
    const query = '$limit=6';
    for (const pagination of [{ page: 2 }, { after: { id: whole[5] } }]) {
      const headers = { options: JSON.stringify({ pagination }) };
      const page = await ask({ query, headers });
      t.strictSame([idsOf(page), page.link], [whole.slice(6, 12), null]);
      const options = JSON.stringify({ pagination: { limit: 6, after: JSON.parse(page.after ?? '') } });
      t.strictSame(idsOf(await ask({ headers: { options } })), whole.slice(12, 18));
    }
    const headers = { options: JSON.stringify({ select: ['name'], pagination: {} }) };
    const { link } = await ask({ query, headers });
    t.strictSame(idsOf(await ask({ query: link ?? '', headers })), whole.slice(6, 12), 'other options');
  });

  t.test('a page that does not show what it is sorted by names the next one', async (t) => {
    for (const [query, size] of [
      ['$sort=-age&$select=name&$limit=7', 7],
      ['$sort=-age,name&$select=id&$limit=10&$page=1', 10],
      ['$sort=updatedAt&$select=name&active[ne]=false&$limit=3', 3],
      ['$sort=home&$select=home.city&$limit=9', 9],
    ] as const) {
      const whole = idsOf(await ask({ query: query.replace(/&\$limit=\d+|&\$page=1/g, '') }));
      const walked: string[] = [];
      for (let next: string | null = query; next !== null; ) {
        const page: Page = await ask({ query: next });
        if (isKept) t.strictSame(await ask({ query: next }), page, 'asked again');
        t.equal(page.link !== null, page.records.length === size, `${next}: a full page names the next one`);
        walked.push(...idsOf(page));
        next = page.link;
      }
      t.strictSame(walked, whole, query);
    }
    const body = { $sort: ['-age'], $select: ['name'], $limit: 15 };
    const inBody: string[] = [];
    for (let $after: unknown; ; ) {
      const page: Page = await ask({
        method: 'QUERY',
        body: { ...body, ...($after !== undefined && { $after }) },
      });
      inBody.push(...idsOf(page));
      if (page.after === null) break;
      $after = JSON.parse(page.after);
    }
    t.strictSame(inBody, idsOf(await ask({ query: '$sort=-age&$select=name' })), 'in a body');
  });

  t.test('a place to go on from is read, or refused', async (t) => {
    const whole = idsOf(await ask({ query: '$sort=age' }));
    for (const skip of [1, 4, 39, 40]) {
      const rest = await ask({ query: `$sort=age&$limit=5&$after={"skip":${skip}}` });
      t.strictSame(idsOf(rest), whole.slice(skip, skip + 5));
      const equal = await ask({ query: `$sort=age&$limit=4&active=true&$after={"skip":${skip}}` });
      const all = idsOf(await ask({ query: '$sort=age&active=true' }));
      t.strictSame(idsOf(equal), all.slice(skip, skip + 4));
    }
    const { records } = await ask({ query: '$sort=age&$limit=6' });
    const { id, age } = records.at(-1);
    const $after = encodeURIComponent(JSON.stringify({ id, value: age, skip: 3 }));
    t.strictSame(idsOf(await ask({ query: `$sort=age&$limit=5&$after=${$after}` })), whole.slice(9, 14));
    for (const bad of [
      '{"skip":-1}',
      '{"skip":1.5}',
      '{"skip":"1"}',
      '{"skip":1,"value":3}',
      '{"skip":9007199254740991}',
    ])
      t.strictSame(
        await refused({ query: `$sort=age&$limit=5&$after=${bad}` }),
        [400, 'invalid_options'],
        bad,
      );
  });

  t.test('what a page has to show', async (t) => {
    for (const [query, isNamed] of [
      ['$limit=5', true],
      ['$limit=5&$select=name', true],
      ['$limit=5&$select=name&$sort=id', true],
      ['$limit=5&$select=name,age&$sort=age', true],
      ['$limit=5&$select=name&$sort=age', true],
      ['$limit=5&$select=home.city&$sort=home', true],
      ['$limit=5&$select=home.city,home&$sort=home', true],
      ['$limit=5&$select=name&$sort=createdAt', true],
      ['$limit=5&$count=exact', true],
      ['$limit=1001', false],
      ['$sort=age', false],
      ['name=limit', false],
    ] as const)
      t.equal((await ask({ query })).link !== null, isNamed, query);
    const one = await ask({ path: '/pages/people/_single_', query: '$limit=1' });
    t.strictSame([one.link, one.after], [null, null], 'findOne');
    const search = 'searchText=Ada&searchableFields[]=name&$limit=1&$sort=age';
    t.ok((await ask({ path: '/pages/people/search', query: search })).link, 'search');
  });

  t.test('the address stays what it was', async (t) => {
    const { link } = await ask({ query: 'name[ne]=é>"&$limit=2&%24page=3&active=true&active=true' });
    t.match(link, /^name\[ne\]=%C3%A9%3E%22&\$limit=2&active=true&active=true&\$after=%7B%22id%22/);
  });
}

for (const options of inBoth ? [{}, inStore] : [{}])
  t.test('a page that is streamed, or has long values, names the next one', async (t) => {
    const harness = await queryHarnessFor(t, options);
    const space = spaceOf(harness, 'pages', 'large', fieldsOf('name TEXT, age NUMBER'));
    const records = Array.from({ length: 2500 }, (_, age) => ({
      name: 'é'.repeat(age < 7 ? 5000 : 3),
      age,
    }));
    t.equal((await space.insert(records)).status, 200);
    for (const [query, pages] of [
      ['$limit=1200&$select=age', 3],
      ['$sort=-age&$limit=1250&$page=1', 3],
      ['$sort=-age&$limit=1250&$select=name', 3],
      ['$sort=-name&$limit=3&age[lt]=8', 3],
      ['$sort=-name&$select=age&$limit=2&age[lt]=8', 5],
    ] as const) {
      const read = async (asked: string) => {
        const { path, structure } = space;
        const answer = await harness.respond({ path, structure, query: asked });
        const found = JSON.parse(String(await responseBytes(answer))) as { id: string }[];
        const next = /^<\?(.*)>; rel="next"$/.exec(answer.headers?.link ?? '')?.[1];
        return { ids: found.map(({ id }) => id), next };
      };
      const whole = await read(query.replace(/&?\$(limit|page)=\d+/g, ''));
      const walked: string[] = [];
      let count = 0;
      for (let next: string | undefined = query; next !== undefined; count++) {
        const page = await read(next);
        walked.push(...page.ids);
        next = page.next;
      }
      t.strictSame(walked, whole.ids, query);
      t.equal(count, pages, query);
    }
  });
