/** The forms of texts that fields normalize. */
import fc from 'fast-check';
import t from 'tap';
import { mergeStructure } from '#query/space/merge-structure.ts';
import { normalizations, normalized } from '#records/types/normalize.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { sized } from '../services/test-size.ts';
import { thrownBy } from '../services/thrown-by.ts';

/** All sets of steps. */
const sets = Array.from({ length: 2 ** normalizations.length }, (_, bits) =>
  normalizations.filter((_step, index) => bits & (1 << index)),
);
/** Of any letters, and of those that differ by their form, case or place most. */
const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(...'aAΣσςİIıẞßǰJ̌é É\u0301\u0345\u0307\u0323\ufeff\u00a0\u2126\u212a\u1e9b\u1f88가'),
  }),
);

/** Both fields have a value then, whichever steps of the first the second one has. */
function isStable(text: string): boolean {
  return sets.every((steps) => {
    const once = normalized(text, steps);
    return sets.every(
      (fewer) => fewer.some((step) => !steps.includes(step)) || normalized(once, fewer) === once,
    );
  });
}

t.test('a normalized text is its own form, for all of its steps and some of them', async (t) => {
  fc.assert(fc.property(texts, isStable), { numRuns: sized(3000) });
  const unstable: string[] = [];
  for (let point = 0; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    const char = String.fromCodePoint(point);
    if (char !== char.toLowerCase() || char !== char.normalize('NFC') || char.trim() === '')
      for (const text of [char, `a${char}`, ` ${char}\u0301 `]) if (!isStable(text)) unstable.push(text);
  }
  t.strictSame(unstable, []);
});

t.test('two encodings of one text have one form', async () => {
  const both = (text: string): boolean =>
    normalized(text.normalize('NFD'), normalizations) === normalized(text.normalize('NFC'), normalizations);
  fc.assert(fc.property(texts, both), { numRuns: sized(3000) });
});

t.test('a structure gets it only where the stored values have it', async (t) => {
  const plain = storedStructure([{ name: 'a', type: 'TEXT' }]);
  const more = storedStructure([{ name: 'a', type: 'TEXT', normalize: ['lower'] }]);
  t.match(
    thrownBy(() => mergeStructure(plain, more, true)),
    { code: 'structure_conflict' },
  );
  t.equal(mergeStructure(plain, more, false), plain);
  t.equal(mergeStructure(more, plain, true).fields[0]?.normalize, undefined);
});
