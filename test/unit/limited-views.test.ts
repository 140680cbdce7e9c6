import t from 'tap';
import { LimitedViews } from '#query/space/token-views.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';

t.test('tokens with ever new limits do not keep ever more views of a space', async (t) => {
  const views = new LimitedViews();
  const space = { id: 's' } as unknown as RecordSpace;
  const viewOf = (maxRows: number) => views.of(space, { limits: { maxRows } });
  const first = viewOf(0);
  t.equal(viewOf(0), first, 'one view for one set of limits');
  for (let maxRows = 1; maxRows < 1000; maxRows++) viewOf(maxRows);
  t.equal(viewOf(0), first);
  viewOf(1000);
  t.not(viewOf(0), first, 'the old ones are forgotten');
  t.not(views.of(space, { grants: { may: ['find'] } }), views.of(space, { grants: { may: ['insert'] } }));
});
