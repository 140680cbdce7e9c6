/** Pages that say where the next one begins: all of them together are the whole list. */
import t, { type Test } from 'tap';
import { responseBytes } from '../services/fake-request.ts';
import { type QueryCall, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { seed, sized } from '../services/test-size.ts';

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

for (const [what, options] of [
  ['in memory', {}],
  ['in the store', { resultBytes: 0, pending: { cacheBytes: 0 } }],
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
    await pages(t, ask);
  });

async function pages(t: Test, ask: (call: Partial<QueryCall>) => Promise<Page>): Promise<void> {
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
        t.strictSame(await ask({ query }), page, 'asked again');
        t.equal(page.link !== null, page.records.length === $limit, 'a full page names the next one');
        walked.push(...idsOf(page));
        query = page.link;
        count++;
      }
      t.strictSame(walked, whole, `${conditions} ${$sort} by ${$limit}`);
      t.equal(count, Math.floor(whole.length / $limit) + 1);

      for (const method of ['QUERY', 'POST']) {
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

  t.test('what a page has to show', async (t) => {
    for (const [query, isNamed] of [
      ['$limit=5', true],
      ['$limit=5&$select=name', true],
      ['$limit=5&$select=name&$sort=id', true],
      ['$limit=5&$select=name,age&$sort=age', true],
      ['$limit=5&$select=name&$sort=age', false],
      ['$limit=5&$select=home.city&$sort=home', false],
      ['$limit=5&$select=home.city,home&$sort=home', true],
      ['$limit=5&$select=name&$sort=createdAt', false],
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
