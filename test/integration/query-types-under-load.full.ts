/** A field's type changes while records are written, in a process of its own and in two that share a store. */
import t from 'tap';
import { queryHarnessFor } from '../services/query-harness.ts';
import { changeTypesUnderLoad, decimalForm } from '../services/type-change-load.ts';

t.test('in the only process of a store, through its logs', async (t) => {
  const harness = await queryHarnessFor(t);
  await changeTypesUnderLoad(t, [harness.call], { slug: 'plain', changes: 6, unique: false });
  await changeTypesUnderLoad(t, [harness.call], { slug: 'unique', changes: 5, unique: true });
  const forms = [decimalForm(2), decimalForm(3)] as const;
  await changeTypesUnderLoad(t, [harness.call], { slug: 'scale', changes: 5, unique: false, forms });
  await harness.restart();
  const headers = { 'use-pre-stored-structure': 'true' };
  const { body } = await harness.call({ path: '/p/unique', headers });
  t.ok(body.every(({ a }: { a: unknown }) => typeof a === 'number'));
});

t.test('in two processes that tell each other nothing', async (t) => {
  const harness = await queryHarnessFor(t, {
    singleWriter: false,
    freshness: { freshFor: 50, staleAfter: 200, outdatedAfter: 1000 },
  });
  const other = harness.another();
  await changeTypesUnderLoad(t, [harness.call, other.call], { slug: 'two', changes: 6, unique: false });
  const forms = [decimalForm(2), decimalForm(3)] as const;
  await changeTypesUnderLoad(t, [harness.call, other.call], {
    slug: 'scale',
    changes: 6,
    unique: true,
    forms,
  });
});
