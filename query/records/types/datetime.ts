import { dateTime } from '#kernel/json/schema.ts';
import { asStored, type FieldTypeEntry, misfit } from './field-type.ts';
import {
  endOfTime,
  firstTime,
  instantText,
  instantTextSql,
  microsOfText,
  microsSql,
  readInstant,
  textOfMicros,
} from './times.ts';
import { timeOrder } from './value-order.ts';

const valid = 'time';

/** An instant to the microsecond: microseconds since 1970 in the engine. */
export const datetime: FieldTypeEntry = {
  words: 'a DATETIME',
  title: 'DateTime',
  valid,
  can: ['listed', 'ordered', 'bucketed', 'zoned'],
  read(value) {
    if (typeof value === 'number') {
      const isTime = Number.isInteger(value) && value >= firstTime && value < endOfTime;
      return isTime
        ? { value: instantText({ time: value, micros: 0 }) }
        : misfit(valid, 'a number should be whole milliseconds since 1970, in the years 0001 to 9999');
    }
    if (typeof value !== 'string') return misfit(valid);
    const instant = readInstant(value);
    return typeof instant === 'string' ? misfit(valid, `it ${instant}`) : { value: instantText(instant) };
  },
  readText: (text, options) =>
    // in a query a plus sign that is not escaped arrives as a space
    datetime.read(/^-?\d{1,15}$/.test(text) ? Number(text) : text.replace(/ (?=\d\d:\d\d$)/, '+'), options),
  infers: () => false,
  isJson: false,
  cell: 'text',
  isQuoted: true,
  comparable: (text) => text.slice(0, -1),
  order: timeOrder,
  column: () => 'i',
  engineType: 'Int64',
  castSql: microsSql,
  literal: (value) => `toInt64('${microsOfText(value as string)}')`,
  castText: microsOfText,
  textSql: instantTextSql,
  textOfDigits: textOfMicros,
  tableSql: (value) => `fromUnixTimestamp64Micro(${value}, 'UTC')`,
  jsonSql: (value) => `concat('"', ${instantTextSql(value)}, '"')`,
  schema: dateTime,
  example: '2026-01-31T12:00:00.000Z',
  conversions: { TEXT: asStored },
  now: (now) => now.toISOString(),
};
