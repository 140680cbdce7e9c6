import t from 'tap';
import { parseId } from '#query/operations/one-by-id.ts';
import { parseQueryString } from '#server/http/query-string.ts';
import { problemsOf } from '../services/thrown-by.ts';

t.test('one id, taken as it is', async (t) => {
  for (const id of ['x', '', "' OR 1=1", '\0', '😀']) t.equal(parseId([['id', id]]), id);
});

t.test('anything else is a 400', async (t) => {
  for (const [query, problems] of [
    ['', [/missing/]],
    ['ID=x', [/'ID'/, /missing/]],
    ['id=x&id=x', [/2 times/]],
    ['id=x&age=1', [/'age'/]],
  ] as const)
    t.match(
      problemsOf(() => parseId(parseQueryString(query)), 'invalid_condition'),
      problems,
    );
  t.match(
    problemsOf(() => parseId([['id', '\ud800']]), 'invalid_condition'),
    [/valid string/],
  );
});
