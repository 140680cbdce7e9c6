import t from 'tap';
import { guessDelimiter } from '#query/imports/formats/guess-delimiter.ts';

t.test('the delimiter that most lines have as often as the first one', async (t) => {
  for (const [text, delimiter] of [
    ['Name (first, middle, last);Age\nA;3\nB;4\n', ';'],
    ['a, b\tc\n1, 2\t3\n', '\t'],
    ['a, b\tc\nx\t3\n', '\t'],
    ['id\n1\n2\n', ','],
    ['id\na; b; c\n1\n', ','],
    ['a,b\n"x;y;z",1\n', ','],
    ['a|b\n1|2', '|'],
    ['a;b\n1,5;2,5\n', ';'],
    ['"a,x";b\n1;2', ';'],
    ['"a;""x"";",b\n1,2', ','],
    ['a,b\n5" x,2\n', ','],
    ['a, b, c\n1, 2, 3', ','],
    ['\n\na;b\r\n\r\n1;2\r\n', ';'],
    ['a', ','],
    ['', ','],
  ] as const)
    t.equal(guessDelimiter(text, true), delimiter, JSON.stringify(text));
});

t.test('it waits for some lines, or the end', async (t) => {
  t.equal(guessDelimiter('a, b;c\n1', false), null);
  t.equal(guessDelimiter(`a, b;c\n${'1;2\n'.repeat(20)}`, false), ';');
  t.equal(guessDelimiter(`a, b;c\n1;${'x'.repeat(40_000)}`, false), ';', 'or for many characters');
});
