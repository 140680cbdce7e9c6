import t from 'tap';
import { KnownSpaces } from '../../query/space/known-spaces.ts';
import { unannounced } from '../../query/space/spaces-deps.ts';
import { createStructure } from '../../query/structure/structure.ts';

t.test('an account with many spaces does not push out those of another', async (t) => {
  const known = new KnownSpaces({ freshFor: 60_000, staleAfter: 60_000, invalidation: unannounced });
  const stored = createStructure({
    projectSlug: 'p',
    slug: 's',
    name: 's',
    description: 'x'.repeat(2000),
    fields: [],
  } as unknown as Parameters<typeof createStructure>[0]);
  const remember = (id: string, ownerId: string): void => {
    const space = { id, catalogueId: id, ownerId, projectId: 'p', structure: stored, stored };
    known.remember(space, 1, known.begin());
  };
  remember('small', 'small');
  for (let i = 0; i < 10_000; i++) remember(`big ${i}`, 'big');
  t.ok(known.stored('small'));
  t.notOk(known.stored('big 0'));
  t.ok(known.stored('big 9999'));
});
