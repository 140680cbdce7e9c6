/** Which rows and columns of a long table are drawn. */
import fc from 'fast-check';
import t from 'tap';
import {
  columnSpan,
  columnStarts,
  placedRows,
  placeRows,
  rowSpan,
  scrollToRow,
} from '#console/web/records/row-window.ts';

t.test('rows in sight, and some around them', async (t) => {
  const view = { height: 100, rowHeight: 10, rows: 1000 };
  t.strictSame(rowSpan({ ...view, scrollTop: 0 }, 2), { first: 0, end: 12 });
  t.strictSame(rowSpan({ ...view, scrollTop: 505 }, 2), { first: 48, end: 63 });
  t.strictSame(rowSpan({ ...view, scrollTop: 9900 }, 2), { first: 988, end: 1000 });
  t.strictSame(
    rowSpan({ ...view, scrollTop: -50 }, 2),
    { first: 0, end: 12 },
    'the bounce of a touch screen',
  );
  t.strictSame(rowSpan({ ...view, rows: 0, scrollTop: 0 }, 2), { first: 0, end: 0 });
  t.strictSame(
    rowSpan({ ...view, rows: 3, scrollTop: 800 }, 2),
    { first: 3, end: 3 },
    'fewer rows than before',
  );
});

t.test('columns in sight, and one on each side', async (t) => {
  const starts = columnStarts([100, 50, 200, 100]);
  t.strictSame(starts, [0, 100, 150, 350, 450]);
  t.strictSame(columnSpan(starts, 0, 120), { first: 0, end: 3 });
  t.strictSame(columnSpan(starts, 160, 100), { first: 1, end: 4 });
  t.strictSame(columnSpan(starts, 5000, 100), { first: 2, end: 4 });
  t.strictSame(columnSpan([0], 0, 100), { first: 0, end: 0 });
});

t.test('a million rows have a place, and a change of places moves nothing before the eyes', async (t) => {
  const rowHeight = 33;
  const place = fc.record({
    base: fc.nat(40).map((steps) => (steps * placedRows) / 4),
    top: fc.nat(placedRows),
    rows: fc.constant(3_000_000),
  });
  fc.assert(
    fc.property(place, ({ base, top, rows }) => {
      const scrollTop = top * rowHeight;
      const placed = placeRows({ base, scrollTop, rowHeight, rows });
      const seen = placed.base + (scrollTop + placed.scrollBy) / rowHeight;
      t.equal(seen, base + top);
      t.ok(placed.base >= 0);
    }),
  );
  // from the first to the last row, and back
  let [base, scrollTop] = [0, 0];
  const rows = 1_000_000;
  const scroll = (by: number): void => {
    scrollTop = Math.max(0, Math.min(scrollTop + by, (Math.min(rows - base, placedRows) - 20) * rowHeight));
    const placed = placeRows({ base, scrollTop, rowHeight, rows });
    base = placed.base;
    scrollTop += placed.scrollBy;
  };
  for (let i = 0; i < 60; i++) scroll(20_000 * rowHeight);
  t.equal(base + scrollTop / rowHeight, rows - 20);
  for (let i = 0; i < 60; i++) scroll(-20_000 * rowHeight);
  t.strictSame([base, scrollTop], [0, 0]);
});

t.test('a row is brought into sight by the shortest way', async (t) => {
  const view = { base: 100, height: 50, rowHeight: 10, scrollTop: 200 };
  t.equal(scrollToRow(122, view), 0);
  t.equal(scrollToRow(110, view), -100);
  t.equal(scrollToRow(130, view), 60);
});
