import t from 'tap';
import { fieldTypes } from '../../query/structure/field.ts';
import { isPlainValue, readFieldValue } from '../../query/structure/field-value.ts';
import { hostileTexts } from '../services/hostile-texts.ts';

const values: readonly unknown[] = [
  ...hostileTexts,
  ...['', 'text', 'half \ud800', '\udc00', 0, -0, 1, -1.5, 5e-324, 1e308, Number.MAX_SAFE_INTEGER + 2],
  ...[Number.NaN, Number.POSITIVE_INFINITY, true, false, [], [1], ['\ud800'], {}, { a: 1 }],
];

t.test('a plain value is the one that is read, and nothing that is refused is plain', async (t) => {
  let plain = 0;
  for (const type of fieldTypes) {
    for (const value of values) {
      if (!isPlainValue(type, value)) continue;
      plain++;
      t.strictSame(readFieldValue(type, value), { value }, `${type} ${String(value)}`);
      t.not(Object.is(value, -0), true, '-0 is stored as 0');
    }
  }
  t.ok(plain > 10, `${plain}`);
  for (const missing of [null, undefined]) {
    for (const type of fieldTypes) t.equal(isPlainValue(type, missing), false);
  }
});
