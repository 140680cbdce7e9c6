import t from 'tap';
import { formatBytes, formatDuration, formatSince } from '#console/web/parts/format.ts';
import { lastDays, niceTop, others, seriesOf, type UsageDay } from '#console/web/usage/series.ts';

t.test('bytes in powers of 1000, as the limits of the API are', (t) => {
  const expected: readonly (readonly [number, string])[] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [1500, '1.5 kB'],
    [15_400, '15 kB'],
    [999_949, '1000 kB'],
    [999_960, '1.0 MB'],
    [100_000_000, '100 MB'],
    [2.5e15, '2.5 PB'],
    [2.5e18, '2500 PB'],
  ];
  for (const [bytes, text] of expected) t.equal(formatBytes(bytes), text);
  t.end();
});

t.test('times before and after now', (t) => {
  const now = Date.parse('2026-11-22T12:00:00Z');
  const at = (seconds: number) => formatSince(new Date(now - seconds * 1000), now);
  t.equal(at(5), 'just now');
  t.equal(at(60), '1 minute ago');
  t.equal(at(7300), '2 hours ago');
  t.equal(at(-3 * 86_400), 'in 3 days');
  t.equal(at(-7 * 86_400 + 5), 'in 7 days', 'what was just made for seven days');
  t.equal(at(-6.5 * 86_400), 'in 6 days');
  t.equal(at(-5), 'in less than a minute');
  t.match(at(90 * 86_400), '2026');
  t.equal(formatDuration(0), '1 s');
  t.equal(formatDuration(61), '2 min');
  t.equal(formatDuration(7201), '3 h');
  t.end();
});

function day(date: string, project: string, files: number): UsageDay {
  return { date, project, files, requests: 0, bytesIn: 0, bytesStored: 0, recordsWritten: 0 };
}

t.test('usage: a value for each day and project, the smallest projects as one', (t) => {
  const dates = lastDays(3, Date.parse('2026-03-01T23:00:00Z'));
  t.strictSame(dates, ['2026-02-27', '2026-02-28', '2026-03-01']);
  t.strictSame(seriesOf([day('2026-02-28', 'one', 2), day('2026-01-01', 'one', 9)], dates, 'files'), [
    { project: 'one', values: [0, 2, 0], total: 2 },
  ]);
  const many = Array.from({ length: 9 }, (_, index) => day('2026-03-01', `p${index}`, 10 - index));
  const series = seriesOf(many, dates, 'files');
  t.strictSame(
    series.map(({ project, total }) => [project, total]),
    [
      ['p0', 10],
      ['p1', 9],
      ['p2', 8],
      ['p3', 7],
      ['p4', 6],
      [others, 5 + 4 + 3 + 2],
    ],
  );
  t.strictSame(seriesOf(many, dates, 'requests'), [], 'nothing of what nobody did');
  t.end();
});

t.test('a scale ends at a round number, and says nothing of 1.5 files in its middle', (t) => {
  for (const [largest, top] of [
    [0, 1],
    [1, 1],
    [3, 4],
    [41, 60],
    [99, 100],
    [586e6, 6e8],
  ] as const) {
    t.equal(niceTop(largest), top);
  }
  t.end();
});
