import t from 'tap';
import { slotColumns } from '#catalogue/migrations/record-tables.ts';
import { mergeStructure } from '#query/space/merge-structure.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { assignSlots, kindOf, slotOf, slotsText, withSlots } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';
import { storedStructure } from '../services/stored-structure.ts';

const requested = (fields: readonly FieldInput[]): Structure =>
  parseStructure(structureOf('p', 's', fields)).structure as Structure;
const slotsOf = ({ fields }: Pick<Structure, 'fields'>): Record<string, string | null> =>
  Object.fromEntries(fields.map(({ slug, slot }) => [slug, slot]));
const many = (count: number, prefix: string, more: object = { type: 'TEXT' }): FieldInput[] =>
  Array.from({ length: count }, (_, i) => ({ name: `${prefix}${i}`, type: 'TEXT', ...more }));

t.test('each type has its kind, and a hashed field lies apart whatever its type', async (t) => {
  t.strictSame(
    slotsOf(
      storedStructure([
        { name: 'text', type: 'TEXT' },
        { name: 'number', type: 'NUMBER' },
        { name: 'flag', type: 'BOOLEAN' },
        { name: 'list', type: 'ARRAY' },
        { name: 'map', type: 'OBJECT' },
        { name: 'secret', type: 'TEXT', hashed: true },
        { name: 'pin', type: 'NUMBER', hashed: true },
      ]),
    ),
    { text: 't0', number: 'n0', flag: 'b0', list: 't1', map: 't2', secret: 'h0', pin: 'h1' },
  );
});

t.test('what finds no column overflows, and hashed fields take none', async (t) => {
  const { count } = slotColumns.t;
  const slots = slotsOf(storedStructure([...many(10, 'h', { hashed: true }), ...many(count + 2, 'x')]));
  t.equal(slots.h9, 'h9');
  t.equal(slots.x0, 't0');
  t.equal(slots[`x${count - 1}`], `t${count - 1}`);
  t.equal(slots[`x${count}`], 'm0');
  t.equal(slots[`x${count + 1}`], 'm1');
});

t.test('500 fields have 500 slots, of which as many as there are are columns', async (t) => {
  const fields = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'DATETIME'].flatMap((type) =>
    many(100, type, { type }),
  );
  const { fields: stored } = storedStructure(fields);
  const slots = stored.map(slotOf);
  t.equal(new Set(slots).size, 500);
  const columns = Object.values(slotColumns).reduce((sum, { count }) => sum + count, 0);
  t.equal(slots.filter((slot) => kindOf(slot) !== 'm').length, columns);
});

t.test('a slot never changes, and is never given again, in whatever order structures come', async (t) => {
  let stored = storedStructure([{ name: 'a', type: 'TEXT' }]);
  const seen = new Map<string, string | null>([['a', 't0']]);
  const [first, second] = [many(30, 'x'), many(30, 'y', { type: 'NUMBER' })];
  for (const fields of [
    [...second.slice(20), { name: 'a', type: 'TEXT' }],
    [...first].reverse(),
    [{ name: 'b', type: 'BOOLEAN' }, ...second, { name: 'secret', type: 'TEXT', hashed: true }],
    [{ name: 'Renamed', slug: 'a', type: 'TEXT', required: true, unique: true }],
    [{ name: 'c', type: 'TEXT' }],
  ]) {
    stored = mergeStructure(stored, requested(fields), true);
    for (const [slug, slot] of Object.entries(slotsOf(stored))) {
      t.equal(slot, seen.get(slug) ?? slot, slug);
      seen.set(slug, slot);
    }
  }
  t.equal(new Set(seen.values()).size, seen.size);
  t.notOk([...seen.values()].includes(null));
  t.equal(seen.get('c'), 'm21', 'columns and the first overflow are taken');
});

t.test('a field is keyed when it was unique from its first value on', async (t) => {
  const keyed = ({ fields }: Structure): boolean | undefined =>
    fields.find(({ slug }) => slug === 'a')?.keyed;
  const structure = (unique: boolean): Structure => requested([{ name: 'a', type: 'TEXT', unique }]);
  const unique = storedStructure([{ name: 'a', type: 'TEXT', unique: true }]);
  t.equal(keyed(unique), true);
  t.equal(keyed(mergeStructure(unique, structure(true), true)), true);
  const off = mergeStructure(unique, structure(false), true);
  t.equal(keyed(off), false);
  t.equal(keyed(mergeStructure(off, structure(true), true)), false, 'values without keys came meanwhile');
  const [field] = off.fields;
  const fields = assignSlots(
    requested([{ name: 'n', type: 'TEXT', unique: true }]).fields,
    field ? [field] : [],
  );
  t.match(fields, [{ slot: 't1', keyed: true }], 'a new one has no values');
});

t.test('the catalogue has slots as text', async (t) => {
  const { fields } = storedStructure([
    { name: '__proto__', slug: 'constructor', type: 'TEXT', unique: true },
    { name: 'b', type: 'NUMBER' },
  ]);
  const bare = fields.map((field) => ({ ...field, slot: null, keyed: false }));
  t.strictSame(withSlots(bare, slotsText({ fields, retiredSlots: [] })), { fields, retiredSlots: [] });
  t.throws(() => withSlots(bare, '{"b":["n0",false]}'), /has no slot/);
  t.throws(() => slotsText({ fields: bare, retiredSlots: [] }), /has no slot/);
  const retired = { fields, retiredSlots: ['t3', 'm0'] };
  t.strictSame(withSlots(bare, slotsText(retired)), retired);
  const [added] = assignSlots([{ ...(bare[0] as (typeof bare)[0]), slug: 'c' }], fields, ['t1', 't2']);
  t.equal(added?.slot, 't3', 'a slot that was retired is not given again');
});

t.test('a new field takes no slot that a dropped one had: its values may still be there', async (t) => {
  const stored = createStructure({ ...storedStructure(many(2, 'x')), retiredSlots: ['t2', 't3'] });
  const slots = slotsOf(mergeStructure(stored, requested(many(2, 'new')), true));
  t.strictSame(slots, { x0: 't0', x1: 't1', new0: 't4', new1: 't5' });
});
