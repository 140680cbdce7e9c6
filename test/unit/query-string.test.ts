import fc from 'fast-check';
import t from 'tap';
import { parseQueryString } from '#server/http/query-string.ts';
import '../services/test-size.ts';

t.test('pairs keep their order and repetitions', async (t) => {
  t.strictSame(parseQueryString(''), []);
  t.strictSame(parseQueryString('a=1&b=2&a=3&&c&=d&e=f=g'), [
    ['a', '1'],
    ['b', '2'],
    ['a', '3'],
    ['c', ''],
    ['', 'd'],
    ['e', 'f=g'],
  ]);
});

t.test('reads whatever URLSearchParams and encodeURIComponent write', async () => {
  const pairs = fc.array(
    fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' })),
  );
  fc.assert(
    fc.property(pairs, (given) => {
      const wellFormed = given.filter((pair) => pair.every((text) => text.isWellFormed()));
      const asForm = parseQueryString(new URLSearchParams(wellFormed).toString());
      const asUri = parseQueryString(
        wellFormed.map((pair) => pair.map((text) => encodeURIComponent(text)).join('=')).join('&'),
      );
      return (
        JSON.stringify(asForm) === JSON.stringify(wellFormed) &&
        JSON.stringify(asUri) === JSON.stringify(wellFormed)
      );
    }),
  );
});

t.test('broken encodings and too many parameters are 400', async (t) => {
  for (const raw of [
    '%',
    'a=%',
    '%2',
    'a=%zz',
    'a=%ff',
    '%c3%28',
    'a=\uFFFD',
    Array(1001).fill('a').join('&'),
  ]) {
    t.throws(() => parseQueryString(raw), { status: 400, code: 'malformed_request' }, raw.slice(0, 20));
  }
});
