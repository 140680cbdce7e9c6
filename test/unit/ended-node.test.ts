import t from 'tap';
import { endedNode } from '#process/lifecycle/ended-node.ts';

t.test('Node 20 has one sentence about its end, and later versions have none', async (t) => {
  t.match(endedNode('20.19.0'), [/^Node 20 has had no fixes since April 2026.* 505,.* use Node 24$/]);
  for (const version of ['22.12.0', '24.0.0', '120.0.0', '2.20.0'])
    t.strictSame(endedNode(version), [], version);
});
