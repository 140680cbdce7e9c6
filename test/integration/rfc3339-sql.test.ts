/** RFC 3339 in the engine: it takes the texts that a DATETIME takes, for the same instants. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { openChdb } from '#engine/open-chdb.ts';
import { textsSql } from '#records/sql/value-sql.ts';
import {
  instantText,
  instantTextSql,
  isDaySql,
  isRfc3339Sql,
  microsOfText,
  readDay,
  readInstant,
  rfc3339MicrosSql,
} from '#records/types/times.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';
import { seed, sized } from '../services/test-size.ts';

const root = await mkdtemp(join(tmpdir(), 'sluice-rfc3339-'));
// in the suite `served` the SQL is a server's
const server = process.env.SLUICE_TEST_SERVED === undefined ? null : await startClickhouse();
const db = server === null ? openChdb({ path: join(root, 'chdb') }) : openTestClickhouse({ url: server.url });
t.teardown(async () => {
  await db.close();
  await server?.close();
  await rm(root, { recursive: true, force: true });
});

/** Compares the engine with `readInstant`. Answers how many texts are times. */
async function compare(t: Test, texts: readonly string[]): Promise<number> {
  const rows = await db.rows<{ fits: number; micros: string; instant: string }>({
    sql: `SELECT ${isRfc3339Sql('text')} AS fits, toString(${rfc3339MicrosSql('text')}) AS micros,
      ${instantTextSql(rfc3339MicrosSql('text'))} AS instant FROM (SELECT arrayJoin(${textsSql(texts)}) AS text)`,
  });
  t.equal(rows.length, texts.length);
  let times = 0;
  for (const [at, text] of texts.entries()) {
    const instant = readInstant(text);
    const row = rows[at];
    if (typeof instant === 'string') {
      if (Number(row?.fits) !== 0) t.fail(`${JSON.stringify(text)} ${instant}`);
      continue;
    }
    times++;
    const known = instantText(instant);
    if (Number(row?.fits) !== 1 || row?.instant !== known || row.micros !== microsOfText(known))
      t.strictSame({ text, ...row }, { text, fits: 1, micros: microsOfText(known), instant: known });
  }
  return times;
}

t.test('times at the edges', async (t) => {
  const times = [
    '2026-01-31T12:00:00Z',
    '2026-01-31t12:00:00z',
    '2026-01-31T12:00:00.1Z',
    '2026-01-31T12:00:00.123456Z',
    '2026-01-31T12:00:00.12345600000000000000000000000000Z',
    '2026-01-31T12:00:00+01:00',
    '2026-01-31T00:00:00-00:30',
    '2026-01-31T00:00:00+23:59',
    '1969-12-31T23:59:59.999999+00:00',
    '2000-02-29T00:00:00Z',
    '2400-02-29T00:00:00Z',
    '0004-02-29T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '0001-01-01T01:00:00+01:00',
    '9999-12-31T23:59:59.999999Z',
    '9999-12-31T00:59:59.999999-23:00',
    '1900-01-01T00:00:00+01:00',
    '2299-12-31T23:59:59-01:00',
  ];
  t.equal(await compare(t, times), times.length);
  const others = [
    ...['', 'Z', '2026', '2026-01-31', '2026-01-31T12:00:00', '2026-01-31T12:00Z', '2026-01-31 12:00:00Z'],
    ...['2026-02-29T00:00:00Z', '1900-02-29T00:00:00Z', '2026-04-31T00:00:00Z', '2026-02-30T00:00:00Z'],
    ...['2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-01-00T00:00:00Z', '2026-01-32T00:00:00Z'],
    ...['2026-01-31T24:00:00Z', '2026-01-31T12:60:00Z', '2026-06-30T23:59:60Z', '2026-01-31T12:00:61Z'],
    ...['2026-01-31T12:00:00+24:00', '2026-01-31T12:00:00+25:00', '2026-01-31T12:00:00+01:60'],
    ...['2026-01-31T12:00:00+0100', '2026-01-31T12:00:00+1:00', '2026-01-31T12:00:00 01:00'],
    ...['2026-01-31T12:00:00.Z', '2026-01-31T12:00:00.0000001Z', '2026-01-31T12:00:00.1234567Z'],
    ...['0000-12-31T23:59:59Z', '0000-12-31T23:59:59-01:00', '0001-01-01T00:00:00+00:01'],
    ...['9999-12-31T23:59:59.999999-00:01', '12026-01-31T12:00:00Z', '-001-01-31T12:00:00Z'],
    ...[' 2026-01-31T12:00:00Z', '2026-01-31T12:00:00Z ', '2026-01-31T12:00:00Z\n', '2026-01-31T12:00:00Z\0'],
    ...['٢٠٢٦-01-31T12:00:00Z', "'\\", '\u{1f600}', '1767225600000', 'ſ'],
  ];
  t.equal(await compare(t, others), 0);
});

const two = (most: number) => fc.nat(most).map((number) => String(number).padStart(2, '0'));
const texts = fc
  .tuple(
    fc.oneof(
      fc.nat(9999).map((year) => String(year).padStart(4, '0')),
      fc.constantFrom('0000', '0001', '1899', '1900', '2000', '2299', '2300', '9999'),
    ),
    fc.constant('-'),
    two(13),
    fc.constant('-'),
    fc.oneof(two(32), fc.constantFrom('28', '29', '30', '31')),
    fc.constantFrom('T', 'T', 'T', 't', ' '),
    two(24),
    fc.constant(':'),
    fc.oneof({ weight: 9, arbitrary: two(59) }, { weight: 1, arbitrary: two(61) }),
    fc.constant(':'),
    fc.oneof({ weight: 9, arbitrary: two(59) }, { weight: 1, arbitrary: two(61) }),
    fc.constantFrom('', '', '.5', '.12', '.120', '.1234', '.999999', '.000001', '.1234560', '.1234567', '.'),
    fc.oneof(
      fc.constantFrom('Z', 'Z', 'z', ''),
      fc.tuple(fc.constantFrom('+', '-', '+', '-', ' '), two(24), fc.constant(':'), two(60)),
    ),
  )
  .map((parts) => parts.flat().join(''));

t.test('days', async (t) => {
  const days = fc.sample(
    fc
      .tuple(
        fc.constantFrom('0000', '0001', '1900', '2000', '2024', '2026', '9999', '12026', '26'),
        two(13),
        two(32),
      )
      .map((parts) => parts.join('-')),
    { seed, numRuns: 5000 },
  );
  const rows = await db.rows<{ fits: number }>({
    sql: `SELECT ${isDaySql('text')} AS fits FROM (SELECT arrayJoin(${textsSql(days)}) AS text)`,
  });
  const [found, known] = [
    rows.map(({ fits }) => Number(fits)),
    days.map((day) => Number(readDay(day) !== null)),
  ];
  t.strictSame(found, known);
  t.ok(known.includes(1) && known.includes(0));
});

t.test('random texts', async (t) => {
  const count = sized(100_000, 5000);
  let times = 0;
  for (let at = 0; at < count; at += 5000)
    times += await compare(t, fc.sample(texts, { seed: seed + at, numRuns: 5000 }));
  t.ok(times > count / 10 && times < count, `${times} of ${count} are times`);
});
