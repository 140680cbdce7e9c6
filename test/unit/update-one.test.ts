import t from 'tap';
import type { QueryParts } from '#query/operations/operation.ts';
import { updateOne } from '#query/operations/update-one.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

t.test('a record that matches and can never be changed keeps nobody from the event loop', async (t) => {
  const space = spaceWith(storedStructure([{ name: 'level', type: 'NUMBER' }]));
  const controller = new AbortController();
  const reason = new Error('the deadline');
  setTimeout(() => controller.abort(reason), 5);
  let attempts = 0;
  const deps = {
    reader: { firstId: async () => 'a' },
    changes: {
      update: async () => {
        if (++attempts > 100_000) throw new Error('no timer runs');
        return null;
      },
    },
  } as unknown as QueryParts;
  const request = fakeRequest({ query: [['level', '1']], signal: controller.signal });
  const call = {
    request,
    timing: null,
    authenticate: async () => ({ userId: 'owner', tokenId: 't' }),
    open: () => space,
    body: async () => ({ level: 2 }),
    wrote() {},
  };
  await t.rejects(async () => updateOne.run(call, deps), reason);
  t.ok(attempts > 0, `${attempts} attempts`);
});
