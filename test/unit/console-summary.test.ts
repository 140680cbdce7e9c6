/** A summary of records: in the address, as a request, and as a picture. */
import t from 'tap';
import type { Field } from '#console/web/projects/structure.ts';
import { emptyView } from '#console/web/records/record-view.ts';
import {
  bucketText,
  chartOf,
  fieldsOf,
  type Summary,
  summaryBody,
  summaryOfQuery,
  summaryProblems,
  timesOf,
  valueNames,
  withSummary,
} from '#console/web/records/summary.ts';

const field = { required: false, unique: false, hashed: false };
const fields: readonly Field[] = [
  { ...field, name: 'city', slug: 'city', type: 'TEXT' },
  { ...field, name: 'count', slug: 'count', type: 'NUMBER' },
  { ...field, name: 'pin', slug: 'pin', type: 'NUMBER', hashed: true },
];
const summary: Summary = {
  groups: ['city', 'count'],
  time: 'createdAt',
  every: '1mo',
  zone: 'Europe/Paris',
  values: [
    { of: 'count', field: '' },
    { of: 'p95', field: 'count' },
  ],
};

t.test('it goes into the address beside the filters, and comes back', async (t) => {
  const filters = new URLSearchParams('where.city=Rome&by=gone&zone=UTC');
  const query = new URLSearchParams(withSummary(filters, summary));
  t.equal(query.get('where.city'), 'Rome');
  t.strictSame(summaryOfQuery(query, fields), summary);
  const usual = { groups: [], time: '', every: '1d', zone: 'UTC', values: [{ of: 'count', field: '' }] };
  t.strictSame(summaryOfQuery(new URLSearchParams('time=city&every=9&value=toString&by='), fields), usual);
});

t.test('the request', async (t) => {
  t.strictSame(valueNames(summary), ['count ', 'p95 of count'], 'a field has the name already');
  t.strictSame(summaryBody(summary, { ...emptyView, search: 'a' }, fields), {
    where: [['$or', [[['city', 'icontains', 'a']]]]],
    groupBy: [{ bucket: 'createdAt', every: '1mo', timeZone: 'Europe/Paris', fill: true }, 'city', 'count'],
    sort: [{ by: 'createdAt', order: 'desc' }],
    limit: 500,
    values: { 'count ': 'count', 'p95 of count': { quantile: ['count', 0.95] } },
  });
  const plain: Summary = { ...summary, groups: [], time: '', values: [{ of: 'sum', field: 'count' }] };
  t.strictSame(summaryBody(plain, emptyView, fields), { values: { 'sum of count': { sum: 'count' } } });
});

const exactFields: readonly Field[] = [
  { ...field, name: 'at', slug: 'at', type: 'DATETIME' },
  { ...field, name: 'day', slug: 'day', type: 'DATE' },
  { ...field, name: 'secret', slug: 'secret', type: 'DATE', hashed: true },
  { ...field, name: 'seats', slug: 'seats', type: 'INTEGER' },
  { ...field, name: 'price', slug: 'price', type: 'DECIMAL', precision: 6, scale: 2 },
];

t.test('groups by the times and days of a field', async (t) => {
  t.strictSame(timesOf(exactFields), ['createdAt', 'updatedAt', 'at', 'day']);
  const of = (time: string): Summary => ({ ...summary, groups: [], time });
  const query = new URLSearchParams(withSummary(new URLSearchParams(), of('at')));
  t.equal(summaryOfQuery(query, exactFields).time, 'at');
  const bucketOf = (time: string) =>
    JSON.parse(JSON.stringify(summaryBody(of(time), emptyView, exactFields)));
  t.strictSame(bucketOf('at').groupBy, [
    { bucket: 'at', every: '1mo', timeZone: 'Europe/Paris', fill: true },
  ]);
  t.strictSame(bucketOf('day').groupBy, [{ bucket: 'day', every: '1mo', fill: true }], 'a day has no zone');
  t.equal(bucketText(null, '1y'), 'no value');
});

t.test('exact sums are drawn, and texts are not', async (t) => {
  t.strictSame(fieldsOf('sum', exactFields), ['seats', 'price']);
  t.strictSame(fieldsOf('min', exactFields), ['at', 'day', 'seats', 'price', 'createdAt', 'updatedAt']);
  const values = [
    { of: 'sum', field: 'price' },
    { of: 'max', field: 'day' },
  ] as const;
  const names = valueNames({ ...summary, values });
  const row = { at: '2026-01-31T12:00:00.000Z', 'sum of price': '12.30', 'max of day': '2026-01-31' };
  t.strictSame(chartOf([row], { ...summary, groups: ['at'], time: '', values }, names).figures, [
    [[12.3]],
    [[0]],
  ]);
});

t.test('what can not be computed', async (t) => {
  t.strictSame(fieldsOf('avg', fields), ['count']);
  t.strictSame(fieldsOf('max', fields), ['city', 'count', 'createdAt', 'updatedAt']);
  const wrong: Summary = { ...summary, groups: ['gone'], values: [{ of: 'avg', field: 'city' }] };
  t.strictSame([...summaryProblems(wrong, fields).keys()], ['gone', 'avg.city']);
  t.equal(summaryProblems(summary, fields).size, 0);
});

t.test('a picture: time from left to right, the largest series first', async (t) => {
  const rows = [
    { createdAt: '2026-02-01T00:00:00+01:00', city: 'Rome', n: 5, max: 'x' },
    { createdAt: '2026-02-01T00:00:00+01:00', city: null, n: 1, max: 'y' },
    { createdAt: '2026-01-01T00:00:00+01:00', city: null, n: null, max: null },
  ];
  const chart = chartOf(rows, { ...summary, groups: ['city'] }, ['n']);
  t.strictSame(
    chart.places.map((place) => bucketText(place, '1mo')),
    ['2026-01', '2026-02'],
  );
  t.strictSame(
    [chart.names, chart.figures, chart.left],
    [
      ['Rome', 'no value'],
      [
        [
          [0, 5],
          [0, 1],
        ],
      ],
      0,
    ],
  );
  t.equal(bucketText('2026-02-01T13:00:00Z', '1h'), '2026-02-01 13:00');
});

t.test('a picture left out the groups without a colour, and its bars were too short', async (t) => {
  const rows = Array.from({ length: 8 }, (_, n) => ({
    createdAt: n < 6 ? 'a' : 'b',
    city: `${n}`,
    n: 10 - n,
  }));
  const { names, left, others } = chartOf(rows, { ...summary, groups: ['city'] }, ['n']);
  t.strictSame([names.length, left], [6, 2]);
  t.strictSame(others, [[7, 0]]);
});
