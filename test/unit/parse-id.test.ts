import t from 'tap';
import { ApiError } from '../../common/errors/api-error.ts';
import { parseId } from '../../query/input/parse-id.ts';
import { thrownBy } from '../services/thrown-by.ts';

t.test('one id, taken as it is', async (t) => {
  for (const id of ['x', '', "' OR 1=1", '\0', '😀']) t.equal(parseId([['id', id]]), id);
});

t.test('anything else is a 400', async (t) => {
  const refused: [[string, string][], RegExp[]][] = [
    [[], [/missing/]],
    [[['ID', 'x']], [/'ID'/, /missing/]],
    [
      [
        ['id', 'x'],
        ['id', 'x'],
      ],
      [/2 times/],
    ],
    [
      [
        ['id', 'x'],
        ['age', '1'],
      ],
      [/'age'/],
    ],
    [[['id', '\ud800']], [/valid string/]],
  ];
  for (const [pairs, problems] of refused) {
    const error = thrownBy(() => parseId(pairs)) as ApiError;
    t.ok(error instanceof ApiError);
    t.match(error, { status: 400, code: 'invalid_condition', problems });
  }
});
