/** Keys, selections and calls that the table of records makes. */
import t from 'tap';
import type { Field } from '#console/web/projects/structure.ts';
import { gridColumns } from '#console/web/records/grid-columns.ts';
import { gridKey } from '#console/web/records/grid-key.ts';
import { extendSelection, toggleRecord } from '#console/web/records/record-selection.ts';

const extent = { pageRows: 10, lastRow: 500, lastColumn: 7 };
const none = { ctrlKey: false, metaKey: false, shiftKey: false, altKey: false };
const press = (key: string, held: Partial<typeof none> = {}) => gridKey({ key, ...none, ...held }, extent);

t.test('keys of a grid', async (t) => {
  const move = (rows: number, columns: number, extend = false) => ({ kind: 'move', rows, columns, extend });
  t.strictSame(press('ArrowDown'), move(1, 0));
  t.strictSame(press('ArrowUp', { shiftKey: true }), move(-1, 0, true));
  t.strictSame(press('PageDown'), move(10, 0));
  t.strictSame(press('Home'), move(0, -7));
  t.strictSame(press('End', { ctrlKey: true }), { kind: 'end' });
  t.strictSame(press('Home', { metaKey: true }), move(-500, -7));
  for (const [key, kind] of [
    [' ', 'select'],
    ['Enter', 'open'],
    ['Escape', 'clear'],
    ['Delete', 'delete'],
  ]) {
    t.strictSame(press(key as string), { kind });
  }
  t.strictSame(press('a', { ctrlKey: true }), { kind: 'selectAll' });
  t.equal(press('a'), null);
  t.equal(press('Tab'), null);
  t.equal(press('ArrowLeft', { altKey: true }), null, 'Back of the browser');
  t.equal(press('r', { ctrlKey: true }), null);
});

t.test('rows are selected one by one, and from one to another', async (t) => {
  const idAt = (row: number) => (row === 3 ? null : `r${row}`);
  t.strictSame([...toggleRecord(new Set(['a']), 'b')], ['a', 'b']);
  t.strictSame([...toggleRecord(new Set(['a', 'b']), 'a')], ['b']);
  t.strictSame([...extendSelection(new Set(['a']), 4, 2, idAt)], ['a', 'r2', 'r4']);
});

t.test('columns are the fields that can be read, and those of the service', async (t) => {
  const field = { slug: 's', required: false, unique: false };
  const fields: readonly Field[] = [
    { ...field, name: 'name', type: 'TEXT', hashed: false },
    { ...field, name: 'password', type: 'TEXT', hashed: true },
  ];
  t.strictSame(
    gridColumns(fields).map(({ name }) => name),
    ['name', 'createdAt', 'updatedAt', 'id'],
  );
});
