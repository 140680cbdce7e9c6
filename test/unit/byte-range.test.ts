import fc from 'fast-check';
import t from 'tap';
import { parseRange } from '#gateway/download/byte-range.ts';
import { sized } from '../services/test-size.ts';

t.test('single ranges', async (t) => {
  const cases: [header: string, start: number, end: number][] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-99', 0, 99],
    ['bytes=0-', 0, 99],
    ['bytes=10-20', 10, 20],
    ['bytes=99-', 99, 99],
    ['bytes=99-1000', 99, 99],
    ['bytes=-1', 99, 99],
    ['bytes=-100', 0, 99],
    ['bytes=-1000', 0, 99],
    ['BYTES=1-2', 1, 2],
    ['bytes= 1-2 ', 1, 2],
    ['bytes=,1-2,', 1, 2],
    ['bytes=0-99999999999999999999999', 0, 99],
    ['bytes=-99999999999999999999999', 0, 99],
  ];
  for (const [header, start, end] of cases) t.strictSame(parseRange(header, 100), { start, end }, header);
});

t.test('what is no single byte range is ignored', async (t) => {
  for (const header of [
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=1',
    'bytes=5-4',
    'bytes=1.5-2',
    'bytes=+1-2',
    'bytes=1 -2',
    'bytes 1-2',
    'items=0-5',
    'bytes=0-1,5-6',
    'bytes=0-1, -1',
    'bytes=0x1-0x2',
    'bytes=--1',
  ]) {
    t.equal(parseRange(header, 100), null, String(header));
  }
});

t.test('a range outside the file is 416 and says the size', async (t) => {
  for (const header of ['bytes=100-', 'bytes=100-200', 'bytes=-0', 'bytes=99999999999999999999-']) {
    t.throws(
      () => parseRange(header, 100),
      { status: 416, code: 'range_not_satisfiable', headers: { 'content-range': 'bytes */100' } },
      header,
    );
  }
});

t.test('an empty file', async (t) => {
  t.throws(() => parseRange('bytes=0-', 0), { code: 'range_not_satisfiable' });
  t.throws(() => parseRange('bytes=0-0', 0), { code: 'range_not_satisfiable' });
  t.throws(() => parseRange('bytes=-0', 0), { code: 'range_not_satisfiable' });
  t.equal(parseRange('bytes=-5', 0), null, 'all of it, which is nothing');
});

t.test('any header gives a range inside the file, nothing, or 416', async (t) => {
  const header = fc.oneof(
    fc.string({ maxLength: 30 }).map((text) => `bytes=${text}`),
    fc.tuple(fc.nat(300), fc.nat(300)).map(([a, b]) => `bytes=${a}-${b}`),
    fc.nat(300).map((n) => `bytes=-${n}`),
  );
  fc.assert(
    fc.property(header, fc.nat(200), (text, size) => {
      try {
        const range = parseRange(text, size);
        if (range === null) return;
        if (!(range.start >= 0 && range.start <= range.end && range.end < size))
          throw new Error(JSON.stringify(range));
      } catch (error) {
        if ((error as { status?: number }).status !== 416) throw error;
      }
    }),
    { numRuns: sized(3000) },
  );
  t.pass('any header');
});
