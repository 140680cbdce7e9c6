import t from 'tap';
import { keyOf } from '#records/sql/record-keys.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { termOf } from '#records/sql/terms.ts';

const one = new RecordsTable({ servers: 1 }, 'd');
const several = new RecordsTable({ servers: 3 }, 'd');
const [space, sibling, other] = ['aa', 'ab', 'ba'].map(
  (begin) => `${begin}000000-0000-5000-8000-000000000000`,
) as [string, string, string];

t.test('one server is one home; of several each has some of the spaces', async (t) => {
  t.equal(one.homeOf(space), one.homeOf(sibling));
  t.not(several.homeOf(space), several.homeOf(sibling));
  t.equal(several.homeOf(space), several.homeOf(other), 'there are fewer homes than spaces');
  for (const id of [space, sibling, other]) {
    const address = { spaceId: id, id: 'r' };
    const assignments = [{ slot: 't0', value: 'x' }];
    for (const { home } of [
      several.select(id, { columns: '_id' }),
      several.selectByIds([address], '_id'),
      several.remove([address]),
      several.update([{ ...address, assignments }], new Date()),
      several.clear(id),
      several.addKeys(id, 't0'),
    ]) {
      t.equal(home, several.homeOf(id));
    }
  }
});

t.test('a term is 40 bits of space, slot and value', async (t) => {
  t.match(termOf(space, 't0', 'x'), /^[0-9a-f]{10}$/);
  const others = [termOf(space, 't1', 'x'), termOf(space, 't0', 'y')];
  t.strictSame(
    others.map((term) => term === termOf(space, 't0', 'x')),
    [false, false],
  );
  const [one, other] = ['8000', '9000'].map((digits) => `00000000-0000-5000-${digits}-000000000001`);
  t.not(termOf(one as string, 't0', 'x'), termOf(other as string, 't0', 'x'));
});

t.test('a key is 64 bits of slot and value', async (t) => {
  t.match(keyOf('t0', 'x'), /^\d{1,20}$/);
  t.not(keyOf('t0', 'x'), keyOf('t1', 'x'));
  t.equal(keyOf('n0', 1), keyOf('n0', 1.0));
});
