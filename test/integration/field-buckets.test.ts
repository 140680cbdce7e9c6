/** Groups by stretches of a field's time, compared with what Intl says of the clocks of places. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { sized } from '../services/test-size.ts';

const harness = await queryHarnessFor(t);
const zones = [
  'UTC',
  'Pacific/Apia',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
  'Africa/Casablanca',
  'Asia/Kathmandu',
  'Antarctica/Troll',
  'America/St_Johns',
  'Asia/Kolkata',
  'Pacific/Kiritimati',
  'Pacific/Chatham',
  'America/Havana',
  'Africa/Monrovia',
  'Asia/Pyongyang',
  'Europe/Dublin',
  'Europe/London',
  'America/New_York',
  'Asia/Tehran',
  'Pacific/Kwajalein',
  'Europe/Amsterdam',
];
const units = { '1d': 10, '1mo': 7, '1y': 4 } as const;
const space = spaceOf(harness, 'p', 'times', fieldsOf('at DATETIME, day DATE'));
const random = seededRandom(20);
const edges = [
  '2011-12-28T00:00:00Z',
  '2011-12-29T10:30:00Z',
  '2011-12-30T09:59:59.999999Z',
  '2011-12-30T10:00:00Z',
  '2012-01-01T00:00:00Z',
  '2018-11-04T02:59:59.999Z',
  '2018-11-04T03:00:00.000001Z',
  '1900-01-01T12:00:00Z',
  '1969-12-31T23:59:59.999999Z',
  '2299-12-30T00:00:00Z',
];
const years = (from: number, to: number): number =>
  Date.UTC(from, 0, 1) + random() * (Date.UTC(to, 0, 1) - Date.UTC(from, 0, 1));
const times = [
  ...edges,
  ...Array.from({ length: 300 }, () => new Date(Math.floor(years(1995, 2030))).toISOString()),
  ...Array.from({ length: 100 }, () => new Date(Math.floor(years(1901, 2299))).toISOString()),
];
await space.insert(times.map((at) => ({ at, day: at.slice(0, 10) })));

async function groups(group: object): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const answer = await harness.call({
    path: '/p/times/_aggregate_',
    structure: space.structure,
    body: { groupBy: [group], values: { n: 'count' }, limit: 10_000 },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.problems));
  return answer.body;
}

function counted(keys: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const key of [...keys].sort()) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

function localDay(time: string, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  return parts.format(new Date(time));
}

for (const timeZone of zones.slice(0, sized(20, 8))) {
  t.test(`days, months and years of ${timeZone}`, async (t) => {
    for (const [every, length] of Object.entries(units)) {
      const found = await groups({ bucket: 'at', every, timeZone });
      const actual = Object.fromEntries(found.map(({ at, n }) => [String(at).slice(0, length), n]));
      t.strictSame(actual, counted(times.map((time) => localDay(time, timeZone).slice(0, length))), every);
      t.equal(found.length, Object.keys(actual).length, 'no bucket is there twice');
    }
  });
}

t.test('weeks, hours and minutes, and several of them', async (t) => {
  for (const [every, length] of [
    ['1m', 60],
    ['15m', 900],
    ['1h', 3600],
    ['1w', 7 * 86_400],
    ['10d', 864_000],
  ] as const) {
    const found = await groups({ bucket: 'at', every });
    const first = every === '1w' ? 4 * 86_400 : 0;
    const begin = (time: string) => Math.floor((Date.parse(time) / 1000 - first) / length) * length + first;
    const wanted = counted(
      times.map((time) => `${new Date(begin(time) * 1000).toISOString().slice(0, 19)}Z`),
    );
    t.strictSame(Object.fromEntries(found.map(({ at, n }) => [at, n])), wanted, every);
  }
});

t.test('a day has no zone', async (t) => {
  const days = times.map((time) => time.slice(0, 10));
  const mondayOf = (text: string): string => {
    const time = Date.parse(text);
    return new Date(time - ((new Date(time).getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
  };
  for (const [every, firstDayOf] of [
    ['1d', (text: string) => text],
    ['1w', mondayOf],
    ['1mo', (text: string) => `${text.slice(0, 7)}-01`],
    ['1y', (text: string) => `${text.slice(0, 4)}-01-01`],
    ['10y', (text: string) => `${text.slice(0, 3)}0-01-01`],
  ] as const) {
    const found = await groups({ bucket: 'day', every });
    t.strictSame(
      Object.fromEntries(found.map(({ day, n }) => [day, n])),
      counted(days.map(firstDayOf)),
      every,
    );
  }
  for (const every of ['1s', '90m', '24h'])
    await t.rejects(groups({ bucket: 'day', every }), {
      message: '["groupBy: every should be a day or longer, such as 1d: the field has days without a time"]',
    });
  await t.rejects(groups({ bucket: 'day', every: '1d', timeZone: 'Europe/Paris' }), /has no time zone/);
});

t.test('records without a time are a group without a name', async (t) => {
  const sparse = spaceOf(harness, 'p', 'sparse', fieldsOf('at DATETIME, day DATE, n NUMBER'));
  await sparse.insert([
    { at: '2026-01-31T12:00:00Z', day: '2026-01-31', n: 1 },
    { at: '2026-02-02T12:00:00Z', day: '2026-02-02' },
    { n: 2 },
    { n: 3 },
  ]);
  for (const fill of [false, true]) {
    const answer = await harness.call({
      path: '/p/sparse/_aggregate_',
      structure: sparse.structure,
      body: { groupBy: [{ bucket: 'at', every: '1d', fill }], values: { all: 'count', sum: { sum: 'n' } } },
    });
    t.strictSame(answer.body, [
      { at: '2026-01-31T00:00:00Z', all: 1, sum: 1 },
      ...(fill ? [{ at: '2026-02-01T00:00:00Z', all: 0, sum: null }] : []),
      { at: '2026-02-02T00:00:00Z', all: 1, sum: null },
      { at: null, all: 2, sum: 5 },
    ]);
    const byDay = await sparse.aggregate({
      groupBy: [{ bucket: 'day', every: '1d', fill, as: 'begin' }],
      values: { all: 'count' },
    });
    t.strictSame(byDay.body, [
      { begin: '2026-01-31', all: 1 },
      ...(fill ? [{ begin: '2026-02-01', all: 0 }] : []),
      { begin: '2026-02-02', all: 1 },
      { begin: null, all: 2 },
    ]);
  }
});

t.test('a day that the clocks skipped is no bucket', async (t) => {
  const answer = await harness.call({
    path: '/p/times/_aggregate_',
    structure: space.structure,
    body: {
      where: { at: { gte: '2011-12-28T12:00:00Z', lt: '2012-01-02T00:00:00Z' } },
      groupBy: [{ bucket: 'at', every: '1d', timeZone: 'Pacific/Apia', fill: true }],
      values: { n: 'count' },
    },
  });
  t.strictSame(
    answer.body.map(({ at }: { at: string }) => at),
    ['2011-12-29T00:00:00-10:00', '2011-12-31T00:00:00+14:00', '2012-01-01T00:00:00+14:00'],
  );
});
