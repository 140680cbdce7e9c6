import { type FieldTypeEntry, misfit } from './field-type.ts';
import { dayText, dayTextSql, microsOfText, microsSql, readDay, textOfMicros } from './times.ts';
import { dayOrder } from './value-order.ts';

const valid = 'day';

/** A day of the calendar without a zone: in the engine, microseconds since 1970 as if it began in UTC. */
export const date: FieldTypeEntry = {
  words: 'a DATE',
  title: 'Date',
  valid,
  can: ['listed', 'ordered', 'bucketed'],
  read(value) {
    if (typeof value !== 'string') return misfit(valid);
    return readDay(value) === null ? misfit(valid, 'write it as 2026-01-31') : { value };
  },
  readText: (text, options) => date.read(text, options),
  infers: () => false,
  isJson: false,
  cell: 'text',
  isQuoted: true,
  comparable: (text) => text,
  order: dayOrder,
  column: () => 'i',
  engineType: 'Int64',
  castSql: (text) => microsSql(`concat(${text}, ' 00:00:00')`),
  literal: (value) => `toInt64('${microsOfText(value as string)}')`,
  castText: microsOfText,
  textSql: dayTextSql,
  // a cast would take a day beyond 2299 for a time
  tableSql: (value) => `addDays(toDate32('1970-01-01'), intDiv(${value}, 86400000000))`,
  textOfDigits: (digits) => textOfMicros(digits).slice(0, 10),
  jsonSql: (value) => `concat('"', ${dayTextSql(value)}, '"')`,
  schema: { type: 'string', format: 'date' },
  example: '2026-01-31',
  conversions: { TEXT: (text) => ({ fits: '1', text, column: text }) },
  now: (now) => dayText(now.getTime()),
};
