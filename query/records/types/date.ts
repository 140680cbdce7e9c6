import { asStored, type Conversion, type FieldTypeEntry, misfit, type ValueOptions } from './field-type.ts';
import { TimeZone } from './time-zone.ts';
import {
  dayText,
  dayTextSql,
  instantTextSql,
  microsOfText,
  microsSql,
  readDay,
  textOfMicros,
} from './times.ts';
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
  conversions: { TEXT: asStored, DATETIME: beginningOf },
  now: (now) => dayText(now.getTime()),
};

const day = 86_400_000;

/** The first moment of a day in a time zone. The engine's own functions miss it where clocks skip midnight. */
function beginningOf(text: string, _: ValueOptions, { timeZone }: ValueOptions): Conversion {
  const zone = timeZone === undefined ? null : TimeZone.named(timeZone);
  if (zone === null) {
    const needs = 'give the field a timeZone, such as "Europe/Paris": a day becomes its first moment there';
    return { fits: 'false', text, column: text, needs };
  }
  const begins = zone.dayBegins();
  const days = `[${begins.map(({ from }) => from / day).join()}]`;
  const distances = `[${begins.map(({ distance }) => distance).join()}]`;
  const midnight = microsSql(`concat(${text}, ' 00:00:00')`);
  const number = `intDiv(${midnight}, ${day}000)`;
  const column = `(${midnight} + 1000 * transform(roundDown(${number}, ${days}), ${days}, ${distances}))`;
  return { fits: 'true', text: `arrayMap(time -> ${instantTextSql('time')}, [${column}])[1]`, column };
}
