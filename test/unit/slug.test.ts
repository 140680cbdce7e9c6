import t from 'tap';
import { slugProblem } from '../../common/metadata/slug.ts';

t.test('slugs', async (t) => {
  for (const slug of ['a', '0', 'A-b_c', 'x'.repeat(63), 'function'])
    t.equal(slugProblem('project', slug), null, slug);
  for (const slug of ['', '_f_', '-a', '.a', 'a b', 'a/b', 'a.b', 'é', 'a\n', 'x'.repeat(64), 'a%20']) {
    t.match(slugProblem('project', slug), /^The project slug /, slug);
  }
});
