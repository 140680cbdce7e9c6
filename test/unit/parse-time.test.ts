import t from 'tap';
import { parseTime, readTime } from '#records/input/parse-time.ts';

t.test(
  'times of other languages than JavaScript are times: offsets, microseconds, lower case, far years',
  async (t) => {
    const noon = '2026-01-31T12:00:00.500Z';
    for (const [text, time] of [
      [noon, noon],
      ['2026-01-31T12:00:00.5Z', noon],
      ['2026-01-31t12:00:00.500z', noon],
      ['2026-01-31T12:00:00.500000Z', noon],
      ['2026-01-31T12:00:00.500999999Z', noon],
      ['2026-01-31T14:00:00.5+02:00', noon],
      ['2026-01-31T14:00:00.5 02:00', noon],
      ['2026-01-31T06:30:00.5-05:30', noon],
      ['2026-01-31T12:00:00.5-00:00', noon],
      ['2026-02-01T11:59:00.5+23:59', noon],
      ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
      ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
      ['9999-12-31T23:59:59Z', '2299-12-31T23:59:59.999Z'],
      ['0000-01-01T00:00:00Z', '1900-01-01T00:00:00.000Z'],
      ['1899-12-31T23:59:59.999-00:01', '1900-01-01T00:00:59.999Z'],
    ] as const) {
      t.equal(parseTime(text)?.toISOString(), time, text);
    }
  },
);

t.test('a time that no record has is later or earlier than the nearest one', async (t) => {
  for (const [text, beyond] of [
    ['2026-01-31T12:00:00.500000Z', 0],
    ['2026-01-31T12:00:00.5000001Z', 1],
    ['2026-01-31T14:00:00.5004+02:00', 1],
    ['1969-12-31T23:59:59.9991Z', 1],
    ['2299-12-31T23:59:59.999Z', 0],
    ['9999-12-31T23:59:59Z', 1],
    ['1900-01-01T00:00:00.000Z', 0],
    ['1899-12-31T23:59:59.9999Z', -1],
  ] as const)
    t.equal(readTime(text)?.beyond, beyond, text);
});

t.test('a day is its first moment in UTC', async (t) => {
  t.equal(parseTime('2026-01-31')?.toISOString(), '2026-01-31T00:00:00.000Z');
});

t.test('what is no time of RFC 3339', async (t) => {
  for (const text of [
    ...['', 'now', '2026', '2026-02-30', '2026-1-31', '2026-01-31T12:00Z', '2026-01-31T12:00:00'],
    ...['2026-01-31 12:00:00Z', '2026-02-30T00:00:00Z', '2023-02-29T00:00:00Z', '2026-13-01T00:00:00Z'],
    ...['2026-01-31T24:00:00Z', '2026-01-31T12:60:00Z', '2026-01-31T12:00:61Z', '2026-01-31T12:00:00.Z'],
    ...['2026-01-31T12:00:00,5Z', '2026-01-31T12:00:00+24:00', '2026-01-31T12:00:00+02:60'],
    ...['2026-01-31T12:00:00+0200', '+12026-01-31T12:00:00Z', ' 2026-01-31T12:00:00Z'],
    '2026-01-31T12:00:00Z\n',
  ])
    t.equal(parseTime(text), null, JSON.stringify(text));
});
