/** Files of JSON records, taken apart in pieces of any size. */
import fc from 'fast-check';
import t from 'tap';
import { JsonRecordsReader } from '../../console/web/records/json-records-reader.ts';

function read(text: string, cuts: readonly number[] = []): string[] {
  const reader = new JsonRecordsReader();
  const places = [0, ...[...cuts].sort((a, b) => a - b), text.length];
  const found = places.slice(1).flatMap((to, index) => reader.feed(text.slice(places[index], to)));
  return [...found, ...reader.end()].map(({ text }) => text);
}

t.test('an array, lines, and one record', async (t) => {
  t.strictSame(read(' [{"a":1}, {"b":"}]"}\n]\n'), ['{"a":1}', '{"b":"}]"}']);
  t.strictSame(read('{"a":1}\n{"a":"\\"}"}\n'), ['{"a":1}', '{"a":"\\"}"}']);
  t.strictSame(read('\ufeff{"a":[1,{"b":2}]}'), ['{"a":[1,{"b":2}]}']);
  t.strictSame(read('[]'), []);
  t.strictSame(read(''), []);
});

t.test('what is no record comes as it is, and the others after it', async (t) => {
  t.strictSame(read('[1, null,"a b",{"a":1}]'), ['1', 'null', '"a b"', '{"a":1}']);
  t.strictSame(read('{"a":1}\nnonsense\n{"a":2}'), ['{"a":1}', 'nonsense', '{"a":2}']);
  t.strictSame(read('[{"a":1},{"a":'), ['{"a":1}', '{"a":']);
  t.throws(() => read('[{}] {}'), /after the end of the array, at line 1/);
  const reader = new JsonRecordsReader();
  t.strictSame(
    reader.feed('[\n{},\n\n{}]').map(({ line }) => line),
    [2, 4],
  );
});

t.test('any records in any cut', async (t) => {
  const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
  const cut = fc.array(fc.nat(200), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(value), cut, fc.constantFrom(0, 2), (records, cuts, indent) => {
      const text = JSON.stringify(records, null, indent);
      const known = cuts.filter((cut) => cut <= text.length);
      t.strictSame(
        read(text, known).map((element) => JSON.parse(element)),
        JSON.parse(text),
      );
    }),
  );
});

t.test('a missing quote does not fill the memory', async (t) => {
  const reader = new JsonRecordsReader();
  reader.feed('[{"a":"');
  const piece = 'x'.repeat(1024 * 1024);
  t.throws(() => Array.from({ length: 17 }, () => reader.feed(piece)), /line 1 has more than 16 MiB/);
});
