import t from 'tap';
import { LimitedViews } from '../../query/space/open-space.ts';
import type { RecordSpace } from '../../query/structure/record-space.ts';

t.test('tokens with ever new limits do not keep ever more views of a space', async (t) => {
  const views = new LimitedViews();
  const space = { id: 's' } as unknown as RecordSpace;
  const first = views.of(space, { maxRows: 0 });
  t.equal(views.of(space, { maxRows: 0 }), first, 'one view for one set of limits');
  for (let maxRows = 1; maxRows < 1000; maxRows++) views.of(space, { maxRows });
  t.equal(views.of(space, { maxRows: 0 }), first);
  views.of(space, { maxRows: 1000 });
  t.not(views.of(space, { maxRows: 0 }), first, 'the old ones are forgotten');
});
