import type { Convert } from '#records/types/field-type.ts';
import { type FieldType, typeEntry } from '#records/types/field-types.ts';
import { fileTypes } from '#records/types/file-types.ts';
import { isRfc3339Sql, rfc3339MicrosSql } from '#records/types/times.ts';
import { zoneIsMissing } from '../imports/thread/file-times.ts';
import { type LocalTimes, offsetProblem } from '../imports/thread/local-times.ts';
import type { Unfit } from './file-columns.ts';

/** Microseconds since 1970, and what an import refuses. */
interface TimeColumn {
  readonly sql: string;
  readonly unfits: readonly Unfit[];
}

/** Before all times. */
const least = '-1000000000000000000';
/** Microseconds beyond all offsets, for times that are none. */
const none = { skipped: 10 ** 15, twice: 2 * 10 ** 15, unknown: 3 * 10 ** 15 } as const;
type None = keyof typeof none;

/** How a statement names the clocks: a zone has hundreds of changes. */
const names = { starts: '`zone: starts`', offsets: '`zone: offsets`' } as const;

/** The clocks for `zonedTimeSql`. Those of the engine are wrong for some minutes, and for most times before 1970. */
export function withZoneSql(zone: LocalTimes | null): string {
  if (zone === null || zone.starts.length === 1) return '';
  const starts = zone.starts.map((start) => (start === Number.NEGATIVE_INFINITY ? least : `${start}000`));
  const offsets = zone.offsets.map((offset) => (typeof offset === 'number' ? offset * 1000 : none[offset]));
  const list = (values: readonly (string | number)[]): string => `CAST([${values.join()}], 'Array(Int64)')`;
  return `WITH ${list(starts)} AS ${names.starts}, ${list(offsets)} AS ${names.offsets}`;
}

/** Times by the clocks of a place, as imports read them. @param local microseconds as if they were in UTC */
export function zonedTimeSql(local: string, zone: LocalTimes | null): TimeColumn {
  if (zone === null) return { sql: local, unfits: [{ sql: `isNotNull(${local})`, reason: zoneIsMissing }] };
  if (zone.starts.length === 1) return { sql: local, unfits: [] };
  const offset = `transform(roundDown(${local}, ${names.starts}), ${names.starts}, ${names.offsets}, toInt64(0))`;
  const unfits = (Object.keys(none) as None[]).map((reason) => ({
    sql: `${offset} = ${none[reason]}`,
    reason: offsetProblem(reason, zone.zone),
  }));
  return { sql: `${local} - ${offset}`, unfits };
}

/** Texts of times, as imports read them (file-times.ts). @param text not null */
function timeTextSql(
  text: string,
  zone: LocalTimes | null,
): { readonly sql: string; readonly isFit: string } {
  const time = `concat(substring(${text}, 1, 10), 'T', substring(${text}, 12))`;
  const offset = `multiIf(match(${time}, ':[0-9.]+[+-][0-9]{2}$'), concat(${time}, ':00'),
    match(${time}, ':[0-9.]+[+-][0-9]{4}$'), concat(substring(${time}, 1, length(${time}) - 2), ':', right(${time}, 2)), ${time})`;
  const isSeparated = `substring(${text}, 11, 1) IN ('T', 't', ' ')`;
  const micros = rfc3339MicrosSql(offset);
  const isFit = `${isSeparated} AND ${isRfc3339Sql(offset)}`;
  if (zone === null) return { sql: micros, isFit };
  // minutes and seconds: an offset such as +01:00 has one colon
  const isLocal = `match(${text}, ':[0-9]{2}:[0-9]{2}([.][0-9]+)?$')`;
  const utc = `concat(${time}, 'Z')`;
  const local = zonedTimeSql(rfc3339MicrosSql(utc), zone);
  const unfits = local.unfits.map(({ sql }) => ` AND NOT (${sql})`).join('');
  return {
    sql: `if(${isLocal}, ${local.sql}, ${micros})`,
    isFit: `if(${isLocal}, ${isSeparated} AND ${isRfc3339Sql(utc)}${unfits}, ${isFit})`,
  };
}

/** Texts of times or days in a column of that type. @param text not null */
export function timeColumnSql(
  type: FieldType,
  text: string,
  zone: LocalTimes | null,
): { readonly sql: string; readonly isFit: string } {
  if (type === fileTypes.time.type) return timeTextSql(text, zone);
  const convert = typeEntry(fileTypes.text.type).conversions[type] as Convert;
  const { column, fits } = convert(text, {}, {});
  return { sql: column, isFit: fits };
}
