import fc from 'fast-check';
import t from 'tap';
import { repeatedKey } from '#kernel/json/repeated-key.ts';

const repeatedIn = (json: string): string | null => repeatedKey(json, JSON.parse(json) as object);

t.test('a key that an object has twice', async (t) => {
  for (const [json, key] of [
    ['{}', null],
    ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', null],
    ['{"a":":","b":"\\":{\\"a\\":","c":"\\\\"}', null],
    ['{"a":1,"a":2}', 'a'],
    ['{"a" : "x:\\"y" ,\t"b":1, "\\u0061":[]}', 'a'],
    ['{"":1,"":2}', ''],
    ['{"__proto__":1,"b":{},"__proto__":2}', '__proto__'],
    // of an object inside of it, JSON.parse takes the last value
    ['{"a":{"b":1,"b":2}}', null],
  ] as const)
    t.equal(repeatedIn(json), key, json);
});

t.test('it is found among any other keys and values', async (t) => {
  const key = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', ':', '{', '[', 'é'), maxLength: 3 });
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.jsonValue()), { maxLength: 6 }), (pairs) => {
      const keys = pairs.map(([name]) => name);
      const json = `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`;
      const wanted = keys.find((name, index) => keys.indexOf(name) < index) ?? null;
      t.equal(repeatedIn(json), wanted, json);
    }),
  );
});
