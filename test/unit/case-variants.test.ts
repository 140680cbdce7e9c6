import t from 'tap';
import { fold, variantsIn } from '#records/input/filters/case-variants.ts';
import { sized } from '../services/test-size.ts';

/** Beyond the first two planes no letter has case; a full test looks at all planes. */
const end = sized(0x110000, 0x20000);
/** Each is compared with all others, which takes its time: all of them in a full test, else each fiftieth. */
const sample = (some: readonly string[]) => some.filter((_, index) => index % sized(1, 50) === 0);

const letters: string[] = [];
for (let point = 0; point < end; point++) {
  if (point < 0xd800 || point > 0xdfff) letters.push(String.fromCodePoint(point));
}

t.test('letters are equal exactly when a regular expression with i and u takes them as equal', async (t) => {
  const byFold = new Map<string, string[]>();
  for (const letter of letters) {
    const list = byFold.get(fold(letter)) ?? [];
    byFold.set(fold(letter), list);
    list.push(letter);
  }
  const groups = [...byFold.values()].filter((group) => group.length > 1);
  const cased = groups.flat();
  // of other letters (Lo), 127,000 at present, none has case
  const mayHaveCase = letters
    .filter((letter) => /[\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{M}\p{N}\p{S}]/u.test(letter))
    .join('');
  let wrong = 0;
  for (const letter of sample(cased)) {
    const expected = mayHaveCase.match(new RegExp(letter, 'giu'))?.join('');
    if (expected !== byFold.get(fold(letter))?.join('')) wrong++;
  }
  t.equal(wrong, 0);
  t.ok(groups.length > 1300, `${groups.length} groups`);
  // the others stand alone: none is taken as equal to a cased letter
  const alone = letters.filter((letter) => byFold.get(fold(letter))?.length === 1);
  t.equal(alone.length + cased.length, letters.length);
  const changing = alone.filter((letter) => letter.toLowerCase() !== letter.toUpperCase());
  for (const letter of sample(changing)) {
    t.equal(mayHaveCase.match(new RegExp(letter, 'giu'))?.join(''), letter);
  }
});

t.test('famous letters', async (t) => {
  const same = (a: string, b: string): boolean => fold(a) === fold(b);
  t.ok(same('ΟΔΟΣ', 'οδος'), 'a sigma at the end of a word');
  t.ok(same('STRAẞE', 'straße'));
  t.ok(same('\u212A', 'k'), 'Kelvin');
  t.ok(same('ſ', 'S'), 'the long s');
  t.ok(same('µ', 'Μ'), 'micro and capital mu');
  t.ok(same('Ǆ', 'ǅ') && same('ǅ', 'ǆ'), 'title case');
  t.notOk(same('ß', 'ss'), 'one letter is not two');
  t.notOk(same('İ', 'i'), 'a dot is not case');
  t.notOk(same('ı', 'I'));
  t.notOk(same('é', 'e\u0301'), 'nothing is normalised');
});

t.test('variants of a text', async (t) => {
  t.strictSame([...variantsIn(fold('Abc 1'))], []);
  t.strictSame([...variantsIn(fold('ks'))].sort(), [
    ['ſ', 's'],
    ['\u212A', 'k'],
  ]);
  t.strictSame([...variantsIn(fold('Ж'))].flat().join('').toLowerCase(), 'жж');
});
