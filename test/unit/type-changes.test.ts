import t from 'tap';
import { unannounced } from '#coordination/redis/invalidation.ts';
import type { CatalogueEntry as Entry } from '#query/space/catalogue-entry.ts';
import { beginTypeChange, endTypeChange, retypedFields } from '#query/space/retyped-fields.ts';
import { freshnessOf } from '#query/space/spaces-deps.ts';
import { TypeChanges, type TypeChangesParts } from '#query/space/type-changes.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { slotsText, typeChangeOf, withSlots } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';
import { storedStructure } from '../services/stored-structure.ts';

const parsed = (fields: readonly FieldInput[]): Structure =>
  parseStructure(structureOf('p', 's', fields)).structure as Structure;
const stored = storedStructure([
  { name: 'a', type: 'TEXT' },
  { name: 'b', type: 'TEXT' },
]);
const requested = parsed([{ name: 'a', type: 'NUMBER', defaultValue: 3 }]);
const signal = new AbortController().signal;

const entryOf = (structure: Structure, updatedAt = new Date()): Entry => ({
  id: 'id',
  recordsId: 'id',
  ownerId: 'o',
  projectId: 'p',
  structure,
  version: 2,
  initialRecords: '',
  store: 0,
  leftRecords: '',
  rules: '',
  createdAt: updatedAt,
  updatedAt,
});
function changesOf(singleWriter: boolean, entry = entryOf(stored)) {
  const edits: (Structure | null)[] = [];
  let now = entry;
  const deps = {
    freshness: freshnessOf({ singleWriter }, unannounced),
    writes: { idle: async () => {} },
    untilHeard: async () => {},
    store: { rewrite: (_: string, work: () => Promise<unknown>) => work() },
    edit: async (_: string, change: (entry: Entry) => Structure | null) => {
      const structure = change(now);
      edits.push(structure);
      if (structure !== null) now = entryOf(structure);
      return structure !== null;
    },
  } as unknown as TypeChangesParts;
  const changes = new TypeChanges(deps);
  const before = (entry: Entry, request: { structure: Structure | null; stores: boolean }) => {
    now = entry;
    const headers = { mutate: true, inferStructure: false };
    return changes.before(entry, { ...request, headers } as unknown as Parameters<TypeChanges['before']>[1]);
  };
  const hold: TypeChanges['hold'] = (id, work) => changes.hold(id, work);
  return { before, hold, edits };
}

t.test('a change takes a slot, gives the field that slot, and keeps the old one from others', async (t) => {
  const plan = retypedFields(stored, requested);
  t.match(plan, [
    { from: { type: 'TEXT', slot: 't0' }, to: { type: 'NUMBER', slot: 'n0', defaultValue: 3 } },
  ]);
  const begun = beginTypeChange(stored, plan, 'token');
  t.match(begun, { fields: stored.fields, retiredSlots: ['n0'], typeChange: 'token' });
  t.equal(typeChangeOf(slotsText(begun)), 'token');
  t.equal(typeChangeOf(slotsText(stored)), null);
  t.match(withSlots(stored.fields, slotsText(begun)), { fields: stored.fields, retiredSlots: ['n0'] });
  t.match(endTypeChange(begun, plan), {
    fields: [
      { slug: 'a', slot: 'n0', type: 'NUMBER' },
      { slug: 'b', slot: 't1' },
    ],
    retiredSlots: ['t0'],
    typeChange: null,
  });
  const without = createStructure({ ...begun, fields: begun.fields.slice(1) });
  t.equal(endTypeChange(without, plan), null, 'the field was dropped meanwhile');
});

t.test('who waits for a change that is under way', async (t) => {
  const { before, edits } = changesOf(false);
  const changing = entryOf(beginTypeChange(stored, retypedFields(stored, requested), 'other'));
  t.equal(before(changing, { structure: null, stores: false }), null, 'reads do not');
  t.equal(before(changing, { structure: stored, stores: false }), null);
  t.ok(before(changing, { structure: null, stores: true }), 'writes do');
  t.ok(before(changing, { structure: requested, stores: false }), 'and what changes the structure');
  t.equal(before(entryOf(stored), { structure: stored, stores: true }), null);
  t.strictSame(edits, []);
});

t.test('a change of a process that died is called off', async (t) => {
  const begun = beginTypeChange(stored, retypedFields(stored, requested), 'other');
  for (const [alone, entry] of [
    [true, entryOf(begun)],
    [false, entryOf(begun, new Date(Date.now() - 80_000))],
  ] as const) {
    const { before, edits } = changesOf(alone);
    await before(entry, { structure: null, stores: false })?.(signal);
    t.match(edits, [{ typeChange: null, fields: stored.fields, retiredSlots: ['n0'] }]);
  }
});

t.test(
  'work that holds a space takes it from a process that died, and waits for one that lives',
  async (t) => {
    const begun = beginTypeChange(stored, retypedFields(stored, requested), 'other');
    const held = async (alone: boolean, entry: Entry) => {
      const { hold, edits } = changesOf(alone, entry);
      const outcome = await hold('id', async (now) => now?.structure.typeChange).catch(({ code }) => code);
      return { outcome, marks: edits.map((edit) => edit && edit.typeChange === null) };
    };
    const taken = { outcome: 'other', marks: [false, true] };
    t.strictSame(await held(true, entryOf(begun)), taken, 'one process alone died if it is not this one');
    t.strictSame(await held(false, entryOf(begun, new Date(Date.now() - 80_000))), taken);
    t.strictSame(await held(false, entryOf(begun)), { outcome: 'overloaded', marks: [null] });
  },
);
