/** Records page by page: each begins behind the one before, few are kept, and what was deleted leaves no hole. */
import t from 'tap';
import { pagesOfView } from '#console/web/records/pages-of-view.ts';
import type { StoredRecord } from '#console/web/records/record-form.ts';
import { nextLimit, RecordPages } from '#console/web/records/record-pages.ts';
import { cursorOf, type PageRequest } from '#console/web/records/record-view.ts';

/** A space of records `r0`, `r1` ... in this order, as the API pages through it. */
function simulatedSpace(count: number, columns: number) {
  let records: StoredRecord[] = Array.from({ length: count }, (_, index) => ({ id: `r${index}`, c0: index }));
  const requests: PageRequest[] = [];
  let failures = 0;
  const load = async (request: PageRequest) => {
    requests.push(request);
    if (failures-- > 0) throw new Error('away');
    const page = ((request.page ?? 1) - 1) * request.limit;
    const from = request.after === null ? page : records.findIndex(({ id }) => id === request.after?.id) + 1;
    const found = records.slice(from, from + request.limit);
    return { records: found, size: found.length * 100 };
  };
  const pages = new RecordPages({
    columns: Array.from({ length: columns }, (_, index) => `c${index}`),
    sortBy: ['c0'],
    load,
    changed: () => undefined,
  });
  return {
    pages,
    requests,
    load,
    fail: (times: number) => {
      failures = times;
    },
    remove: (id: string) => {
      records = records.filter((record) => record.id !== id);
    },
    insert: (index: number, id: string) => {
      records = records.toSpliced(index, 0, { id, c0: id });
    },
  };
}

async function settled(pages: RecordPages): Promise<void> {
  while (pages.loading) await new Promise((resolve) => setImmediate(resolve));
}

const idAt = (pages: RecordPages, index: number): string | null => {
  const row = pages.row(index);
  return row === null || row === 'gone' ? row : row.id;
};

t.test('pages come as the reader scrolls, and no count is asked for', async (t) => {
  const { pages, requests } = simulatedSpace(1000, 3);
  pages.want({ first: 0, end: 30 });
  await settled(pages);
  t.strictSame(requests, [
    { limit: 50, after: null },
    { limit: 500, after: { id: 'r49', value: 49 } },
  ]);
  t.strictSame([pages.known, pages.complete, idAt(pages, 549)], [550, false, 'r549']);
  t.equal(pages.row(550), null);
  pages.want({ first: 900, end: 1000 });
  await settled(pages);
  t.strictSame([pages.known, pages.complete, idAt(pages, 999)], [1000, true, 'r999']);
  t.equal(pages.row(1000), null);
});

t.test('pages far away are forgotten, and read again from the same record', async (t) => {
  const { pages, requests, remove } = simulatedSpace(5000, 100);
  for (let first = 0; first < 5000; first += 100) {
    pages.want({ first, end: first + 30 });
    await settled(pages);
  }
  t.ok([...pages.rows()].length <= 2000, 'of 5,000 rows with 100 cells each');
  t.equal(pages.row(0), null);
  remove('r60');
  const before = requests.length;
  pages.want({ first: 40, end: 70 });
  await settled(pages);
  t.strictSame(requests.slice(before), [
    { limit: 50, after: null },
    { limit: 500, after: { id: 'r49', value: 49 } },
  ]);
  t.strictSame(
    [idAt(pages, 0), idAt(pages, 60), idAt(pages, 548), idAt(pages, 549)],
    ['r0', 'r61', 'r549', 'gone'],
  );
});

t.test('rows are replaced and removed in their places', async (t) => {
  const { pages } = simulatedSpace(300, 2);
  pages.want({ first: 0, end: 300 });
  await settled(pages);
  pages.replace({ id: 'r7', c0: 'changed' });
  const row = pages.row(7);
  t.match(row, { cells: [{ text: 'changed' }, null] });
  pages.remove(new Set(['r0', 'r60', 'r299']));
  t.strictSame(
    [pages.known, idAt(pages, 0), idAt(pages, 58), idAt(pages, 59), idAt(pages, 296)],
    [297, 'r1', 'r59', 'r61', 'r298'],
  );
});

t.test('what is seen is read again: no record is missed, and none is there twice', async (t) => {
  const { pages, requests, insert, remove } = simulatedSpace(3000, 1);
  for (let first = 0; first < 1500; first += 100) {
    pages.want({ first, end: first + 30 });
    await settled(pages);
  }
  insert(0, 'first');
  insert(1200, 'middle');
  remove('r1100');
  remove('r1210');
  pages.want({ first: 1200, end: 1230 });
  await settled(pages);
  const before = requests.length;
  await pages.refresh();
  t.equal(requests.length, before + 1, 'by one request');
  t.ok(pages.indexOf('middle') > 0);
  t.equal(pages.indexOf('r1210'), -1);
  // back to the beginning, as a reader scrolls
  for (let first = 1200; first >= 0; first -= 100) {
    pages.want({ first, end: first + 30 });
    await settled(pages);
  }
  pages.want({ first: 0, end: 3000 });
  await settled(pages);
  const ids = [...pages.rows()].map(({ id }) => id);
  t.equal(ids[0], 'first');
  t.strictSame([ids.length, new Set(ids).size, pages.known, pages.complete], [3000, 3000, 3000, true]);
});

t.test(
  'it is read again where all pages have places, also when there are more or fewer by then',
  async (t) => {
    const { pages, insert, remove } = simulatedSpace(1200, 1);
    pages.want({ first: 0, end: 30 });
    await settled(pages);
    pages.toEnd(1200);
    pages.want({ first: 1170, end: 1200 });
    await settled(pages);
    t.equal(idAt(pages, 1199), 'r1199');
    insert(1200, 'last');
    await pages.refresh();
    t.strictSame([pages.known, idAt(pages, 1200)], [1201, 'last']);
    for (let index = 600; index < 1200; index++) remove(`r${index}`);
    await pages.refresh();
    pages.want({ first: 590, end: 601 });
    await settled(pages);
    t.strictSame([pages.known, idAt(pages, 600), pages.complete], [601, 'last', true]);
  },
);

t.test('it is read again, from its beginning, where all records were gone', async (t) => {
  const { pages, insert } = simulatedSpace(0, 1);
  pages.want({ first: 0, end: 30 });
  await settled(pages);
  insert(0, 'new');
  await Promise.all([pages.refresh(), pages.refresh()]);
  t.strictSame([pages.known, idAt(pages, 0)], [1, 'new']);
});

t.test('a failure ends the reading until somebody tries again', async (t) => {
  const { pages, requests, fail } = simulatedSpace(100, 1);
  fail(1);
  pages.want({ first: 0, end: 30 });
  await settled(pages);
  t.match(pages.error, { message: 'away' });
  pages.want({ first: 0, end: 40 });
  t.equal(requests.length, 1);
  pages.retry();
  await settled(pages);
  t.strictSame([pages.error, pages.known, pages.complete], [null, 100, true]);
});

t.test('large records come in small pages', async (t) => {
  t.equal(nextLimit(50, 50 * 100), 500);
  t.equal(nextLimit(50, 50 * 100, 5000), 5000, 'on the way to the end');
  t.equal(nextLimit(50, 50 * 1_000_000), 1);
  t.equal(nextLimit(50, 50 * 20_000), 50);
  t.equal(nextLimit(0, 2), 500);
});

t.test('a page of several sorts ends with a value of each', async (t) => {
  const record = { id: 'x', age: 36, name: null };
  t.strictSame(cursorOf(record, ['id']), { id: 'x' });
  t.strictSame(cursorOf(record, ['name']), { id: 'x', value: null });
  t.strictSame(cursorOf(record, ['age', 'name', 'id']), { id: 'x', values: [36, null, null] });
});

t.test('all records of a view come page by page, and that can be stopped', async (t) => {
  const { load, requests } = simulatedSpace(5000, 1);
  const { signal } = new AbortController();
  const sizes: number[] = [];
  for await (const page of pagesOfView(load, ['id'], signal)) sizes.push(page.length);
  t.strictSame(sizes, [100, 2000, 2000, 900]);
  t.equal(requests.length, 4);
  await t.rejects(pagesOfView(load, ['id'], AbortSignal.abort()).next(), { name: 'AbortError' });
});
