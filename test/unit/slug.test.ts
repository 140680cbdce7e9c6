import t from 'tap';
import { slugProblem, spaceSlugProblem } from '#kernel/ids/slug.ts';

t.test('slugs', async (t) => {
  for (const slug of ['a', '0', 'A-b_c', 'x'.repeat(63), 'function'])
    t.equal(slugProblem('project', slug), null, slug);
  for (const slug of ['', '_f_', '-a', '.a', 'a b', 'a/b', 'a.b', 'é', 'a\n', 'x'.repeat(64), 'a%20']) {
    t.match(slugProblem('project', slug), /^The project slug /, slug);
  }
});

t.test('slugs of record spaces are any names', async (t) => {
  for (const slug of ['a', 'user profile', 'prénom', 'a.b', 'a/b', '_x', '名前', "x' OR 1", 'x'.repeat(200)])
    t.equal(spaceSlugProblem(slug), null, slug);
  for (const slug of ['', '.', '..', 'a\n', '\0', 'x'.repeat(201), '\uFFFD', '\ud800'])
    t.match(spaceSlugProblem(slug), /^The record space slug /, slug);
});
