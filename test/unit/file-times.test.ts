/** Times as files have them: in units since 1970, and as texts without a zone. */
import t from 'tap';
import {
  DecimalCell,
  dayCell,
  durationCell,
  timeCell,
  timeOfDayCell,
  UnfitCell,
} from '#query/imports/formats/typed-cells.ts';
import { fileTime, isFileTime, isLocalTime } from '#query/imports/thread/file-times.ts';
import { localTimes, offsetOf } from '#query/imports/thread/local-times.ts';

const beyond = new UnfitCell('is a time that is out of range');

t.test('values of columns', async (t) => {
  for (const [cell, expected] of [
    [timeCell(0n, 's', true), '1970-01-01T00:00:00.000Z'],
    [timeCell(-1n, 'us', true), '1969-12-31T23:59:59.999999Z'],
    [timeCell(-1n, 'ns', false), '1969-12-31T23:59:59.999999999'],
    [timeCell(-62135596800000n, 'ms', true), '0001-01-01T00:00:00.000Z'],
    [timeCell(-62135596800001n, 'ms', true), beyond],
    [timeCell(253402300799999999n, 'us', true), '9999-12-31T23:59:59.999999Z'],
    [timeCell(253402300800000000n, 'us', true), beyond],
    [timeCell(2n ** 63n - 1n, 's', true), beyond],
    [dayCell(-719162), '0001-01-01'],
    [dayCell(-719163), beyond],
    [dayCell(2932896), '9999-12-31'],
    [dayCell(2932897), beyond],
    [dayCell(Number.NaN), beyond],
    [timeOfDayCell(86399999999999n, 'ns'), '23:59:59.999999999'],
    [timeOfDayCell(120000n, 'us'), '00:00:00.120'],
    [timeOfDayCell(86400, 's'), beyond],
    [timeOfDayCell(-1, 'ms'), beyond],
    [durationCell(-1500n, 'ms'), '-PT1.5S'],
    [durationCell(90061n, 's'), 'PT90061S'],
    [durationCell(1n, 'ns'), 'PT0.000000001S'],
    [durationCell(2n ** 63n - 1n, 'ms'), 'PT9223372036854775.807S'],
    [durationCell(-(2n ** 63n), 's'), '-PT9223372036854775808S'],
  ] as const)
    t.strictSame(cell, expected);
});

t.test('decimals, and when a double holds their digits', async (t) => {
  for (const [digits, scale, text, number] of [
    [1230n, 2, '12.30', 12.3],
    [-5n, 3, '-0.005', -0.005],
    [0n, 2, '0.00', 0],
    [123456789012345n, 5, '1234567890.12345', 1234567890.12345],
    [1234567890123456n, 5, '12345678901.23456', null],
    [12345678901234500n, 2, '123456789012345.00', 123456789012345],
    [9007199254740993n, 0, '9007199254740993', null],
    [9007199254740992n, 0, '9007199254740992', 9007199254740992],
  ] as const) {
    const cell = new DecimalCell(digits, scale);
    t.strictSame([cell.text, cell.number], [text, number]);
  }
});

t.test('texts of times', async (t) => {
  const paris = localTimes('Europe/Paris');
  for (const [text, expected] of [
    ['2020-07-01T12:00:00Z', '2020-07-01T12:00:00Z'],
    ['2020-07-01 12:00:00.5+02', '2020-07-01T12:00:00.5+02:00'],
    ['2020-07-01t12:00:00-0330', '2020-07-01T12:00:00-03:30'],
    ['2020-07-01 12:00:00.123456', '2020-07-01T10:00:00.123456Z'],
    ['2020-01-01T00:30:00', '2019-12-31T23:30:00Z'],
    ['1900-01-03 00:09:21', '1900-01-03T00:00:00Z'],
    ['2020-03-29 02:30:00', { problem: 'is skipped by the clocks of Europe/Paris' }],
    [
      '2020-10-25 02:30:00',
      { problem: 'is there twice by the clocks of Europe/Paris: its offset should be written' },
    ],
    [
      '1850-01-01 00:00:00',
      { problem: 'is outside of the years 1900 to 2099, and its offset should be written' },
    ],
    ['2020-02-30 00:00:00', { problem: 'is not a time that exists' }],
    ['2020-01-01T12:00:00+01:', '2020-01-01T12:00:00+01:'],
    ['yesterday', 'yesterday'],
  ] as const)
    t.strictSame(fileTime(text, paris), expected, text);
  const missing = {
    problem: 'has no time zone: timeZone=Europe/Paris, for example, says which one is meant',
  };
  t.strictSame(fileTime('2020-07-01 12:00:00', null), missing);
  t.equal(isFileTime('2020-07-01 12:00:00', null), false);
  t.equal(isFileTime('2020-07-01 12:00:00', paris), true);
  t.equal(isFileTime('2020-07-01 12:00:00.1234567Z', null), false, 'more than microseconds');
  t.equal(isLocalTime('2020-07-01 12:00:00'), true);
  t.equal(isLocalTime('2020-07-01 12:00:00+00'), false);
});

/** Offsets of half an hour, of a whole day, without midnight, beyond the date line, and of permanent changes. */
const oddZones = [
  'Africa/Casablanca',
  'America/Havana',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Kathmandu',
  'Asia/Pyongyang',
  'Australia/Lord_Howe',
  'Europe/Dublin',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'UTC',
];

const hour = 3_600_000;
const day = 24 * hour;

t.test('the times that clocks show, in odd zones', async (t) => {
  for (const name of oddZones) {
    const zone = localTimes(name);
    const timesOf = (local: number): readonly number[] => {
      const offset = offsetOf(zone, local);
      return typeof offset === 'number' ? [local - offset] : [];
    };
    const format = new Intl.DateTimeFormat('sv', { timeZone: name, dateStyle: 'short', timeStyle: 'medium' });
    const shown = (time: number): string => format.format(time).replace(' ', 'T');
    const shownOffset = (time: number): number => Date.parse(`${shown(time)}Z`) - time;
    const changes: number[] = [];
    for (let at = Date.UTC(1975, 0, 1); at < Date.UTC(2030, 0, 1); at += day)
      if (shownOffset(at) !== shownOffset(at + day)) changes.push(at);
    const wrong: string[] = [];
    for (const change of [...changes.filter((_, at) => at % 9 === 0), 0, Date.UTC(2040, 6, 1)])
      for (let time = change - 2 * hour; time < change + day + 2 * hour; time += hour / 2) {
        // the clocks show this, or would if they were not moved
        const local = time + shownOffset(change);
        const near = Array.from({ length: 12 * 27 }, (_, at) => local - 14 * hour + at * (hour / 12));
        const text = new Date(local).toISOString().slice(0, 19);
        const expected = near.filter((near) => shown(near) === text);
        if (JSON.stringify(timesOf(local)) !== JSON.stringify(expected.length === 2 ? [] : expected))
          wrong.push(text);
      }
    t.strictSame(wrong, [], name);
  }
  t.equal(offsetOf(localTimes('Pacific/Apia'), Date.UTC(2011, 11, 30, 12)), 'skipped', 'a whole day');
});
