import t from 'tap';
import { unannounced } from '#coordination/redis/invalidation.ts';
import { ChangeLimit } from '#query/space/change-limit.ts';
import { KnownSpaces } from '#query/space/known-spaces.ts';
import { agrees, structureView } from '#query/space/structure-view.ts';
import type { Field } from '#records/structure/field.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';

const structure = (fields: FieldInput[], more: object = {}): Structure =>
  parseStructure(structureOf('p', 's', fields, more)).structure as Structure;
const a = { name: 'a', type: 'TEXT' };
const b = { name: 'b', type: 'TEXT' };

t.test('a view has the fields of the request that are stored, and their flags', async (t) => {
  const stored = structure([
    { ...a, unique: true },
    { ...b, required: true },
  ]);
  const requested = structure([{ ...b, description: 'mine' }, a, { name: 'c', type: 'TEXT', unique: true }]);
  t.match(structureView(stored, requested), {
    fields: [
      { slug: 'b', required: true, unique: false, description: 'mine' },
      { slug: 'a', required: false, unique: true },
    ],
  });
  const same = structure([{ ...a, unique: true, description: 'other' }]);
  t.match(structureView(stored, same), { fields: [{ slug: 'a', unique: true, description: 'other' }] });
  const [first, second] = stored.fields;
  const slotted = createStructure({
    ...stored,
    fields: [
      { ...(first as Field), slot: 't7', keyed: true },
      { ...(second as Field), slot: 'm0' },
    ],
  });
  t.match(structureView(slotted, structure([b, a])), {
    fields: [
      { slug: 'b', slot: 'm0', keyed: false },
      { slug: 'a', slot: 't7', keyed: true },
    ],
  });
});

t.test('what agrees needs no change', async (t) => {
  const auth = { authOptions: { active: true, space: 'u', scope: ['find'] } };
  const stored = structure([a, b], { ...auth, webhooks: { onInsertUrl: 'https://x' } });
  t.ok(agrees(stored, structure([b])));
  t.ok(agrees(stored, structure([{ ...a, description: 'other', defaultValue: 'x' }], { name: 'Other' })));
  t.ok(agrees(stored, structure([a], { authOptions: { ...auth.authOptions, token: 'x' } })));
  t.ok(agrees(stored, structure([a], { webhooks: { onInsertUrl: 'https://x', onUpdateUrl: '' } })));
  t.notOk(agrees(stored, structure([{ name: 'c', type: 'TEXT' }])));
  t.notOk(agrees(stored, structure([{ ...a, required: true }])));
  t.notOk(agrees(stored, structure([{ ...a, unique: true }])));
  t.notOk(agrees(stored, structure([a], { authOptions: { active: false } })));
  t.notOk(agrees(stored, structure([a], { webhooks: {} })));
  t.notOk(agrees(structure([a]), structure([a], auth)));
});

function spaces() {
  const clock = { now: 0 };
  const known = new KnownSpaces({
    freshFor: 5,
    staleAfter: 10,
    invalidation: unannounced,
    bytes: 1e6,
    now: () => clock.now,
  });
  const stored = structure([a]);
  const space: RecordSpace = {
    id: 's',
    catalogueId: 's',
    ownerId: 'o',
    projectId: 'p',
    structure: stored,
    stored,
  };
  return { clock, known, space };
}

t.test('what is known is used until it is stale', async (t) => {
  const { clock, known, space } = spaces();
  t.equal(known.stored('s'), null);
  known.remember(space, 1, known.begin());
  t.equal(known.stored('s'), space);
  t.equal(known.needsRead('s'), false);
  clock.now = 6;
  t.equal(known.stored('s'), space);
  t.equal(known.needsRead('s'), true);
  clock.now = 11;
  t.equal(known.stored('s'), null);
  known.remember(space, 1, known.begin());
  t.equal(known.stored('s'), space);
  t.equal(known.needsRead('s'), false);
});

t.test('views belong to a version, and what was merged is remembered', async (t) => {
  const { known, space } = spaces();
  const one = structure([a], { description: 'one' });
  const two = structure([a], { description: 'two' });
  known.remember(space, 1, known.begin());
  t.equal(known.view('s', one, true), null);
  const view = known.addView(space, one, true);
  t.equal(known.view('s', one, true), view);
  t.equal(known.view('s', one, false), view);
  const read = known.addView(space, two, false);
  t.equal(known.view('s', two, true), null, 'seen with mutate false only');
  t.equal(known.hasMerged('s', two), false);
  t.equal(known.view('s', two, false), read);
  t.equal(known.addView(space, two, true), read, 'a live find takes another view for a change of the space');
  known.remember(space, 1, known.begin());
  t.equal(known.view('s', one, true), view, 'the same version');
  known.remember(space, 2, known.begin());
  t.equal(known.view('s', one, true), null);
  t.equal(known.hasMerged('s', one), true);
  t.not(known.addView(space, two, true), read, 'another version');
  t.equal(known.versionOf('s'), 2);
});

t.test('nobody gets a space that is closed, except to read', async (t) => {
  const { known, space } = spaces();
  known.remember(space, 1, known.begin());
  known.addView(space, space.stored, true);
  await known.whileClosed('s', async () => {
    t.equal(known.stored('s'), null);
    t.equal(known.view('s', space.stored, true), null);
    t.equal(known.lastStored('s'), space);
  });
  t.equal(known.stored('s'), space);
  await t.rejects(known.whileClosed('s', () => Promise.reject(new Error('no'))));
  t.equal(known.stored('s'), space);
});

t.test('an account with many spaces does not push out those of another', async (t) => {
  const { known, space } = spaces();
  const stored = createStructure({ ...space.stored, description: 'x'.repeat(2000) });
  const remember = (id: string, ownerId: string): void => {
    known.remember({ ...space, id, catalogueId: id, ownerId, stored }, 1, known.begin());
  };
  remember('small', 'small');
  for (let i = 0; i < 10_000; i++) remember(`big ${i}`, 'big');
  t.ok(known.stored('small'));
  t.notOk(known.stored('big 0'));
  t.ok(known.stored('big 9999'));
  const kept = Array.from({ length: 10_000 }, (_, i) => known.versionOf(`big ${i}`)).filter(Boolean).length;
  t.ok(kept > 20 && kept < 40, `${kept} of some 7 KB in a quarter of 1 MB`);
});

t.test('the changes of a space are counted by the minute', async (t) => {
  const limit = new ChangeLimit({ per: 50, limit: 2 });
  limit.note('s');
  t.equal(limit.reached('s'), false);
  limit.note('s');
  t.equal(limit.reached('s'), true);
  t.equal(limit.reached('other'), false);
  await new Promise((resolve) => setTimeout(resolve, 80));
  t.equal(limit.reached('s'), false);
});
