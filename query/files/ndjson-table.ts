import { quoteIdentifier, settingsText } from '#engine/literal.ts';
import type { FieldType } from '#records/types/field-types.ts';
import { fileTypes } from '#records/types/file-types.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import type { FileReading } from '../imports/thread/file-records.ts';
import type { LocalTimes } from '../imports/thread/local-times.ts';
import { isNumberSql, isRoundedSql, isVanishingSql } from './cell-types.ts';
import {
  assertFew,
  type FileColumn,
  type FileLocation,
  type FileTable,
  jsonColumn,
  renamed,
  tableFunctionSql,
  tableOf,
  type Unfit,
  wrongType,
} from './file-columns.ts';
import { timeColumnSql, withZoneSql } from './file-times-sql.ts';
import type { TableShape } from './table-shape.ts';

export function ndjsonTable(
  { columns: found, zone }: TableShape,
  isGzip: boolean,
  reading: FileReading,
): FileTable {
  assertFew(found);
  // no column of the engine can have this name
  if (found.some(({ name }) => name === '')) throw new FileProblem(null, 'one of its keys is empty');
  const structure = found.map(({ name }) => `${quoteIdentifier(name)} Nullable(String)`).join(', ');
  const columns = found.map(({ name, type }) => ndjsonColumn(name, type, quoteIdentifier(name), zone));
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_json_read_arrays_as_strings: 1,
    input_format_json_read_objects_as_strings: 1,
  });
  const from = (location: FileLocation) => tableFunctionSql(location, 'JSONEachRow', structure, isGzip);
  return { ...tableOf(renamed(columns, reading, null)), with: withZoneSql(zone), from, settings };
}

/** Values are read as they are written: the engine would round numbers, and take true for 1. */
function ndjsonColumn(name: string, type: FieldType, sql: string, zone: LocalTimes | null): FileColumn {
  const text = `assumeNotNull(${sql})`;
  const column = (value: string, isOfType: string): FileColumn => ({
    name,
    type,
    sql: `if(isNull(${sql}), NULL, ${value})`,
    unfits: [{ sql: `isNotNull(${sql}) AND NOT (${isOfType})`, reason: wrongType }],
  });
  switch (type) {
    case fileTypes.double.type: {
      const number = `toFloat64OrZero(${text})`;
      const changes = `${isRoundedSql(text)} OR ${isVanishingSql(text, number)}`;
      const isExact = `${isNumberSql(text)} AND isFinite(${number}) AND NOT (${changes})`;
      // most numbers are so short that a double can hold them
      const isShort = `match(${text}, '^-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$')`;
      return column(number, `${isShort} OR ${isExact}`);
    }
    case fileTypes.boolean.type:
      return column(`CAST(${text} = 'true', 'Bool')`, `${text} IN ('true', 'false')`);
    case fileTypes.list.type:
    case fileTypes.struct.type: {
      const json = jsonColumn(name, type, sql, wrongType);
      return { ...json, unfits: [...(json.unfits ?? []), otherBytes(sql)] };
    }
    case fileTypes.day.type:
    case fileTypes.time.type: {
      const { sql: micros, isFit } = timeColumnSql(type, text, zone);
      return column(micros, isFit);
    }
    default:
      return { name, type, sql, unfits: [otherBytes(sql)] };
  }
}

/** The engine does not look at the bytes of a text. */
function otherBytes(sql: string): Unfit {
  return { sql: `NOT isValidUTF8(${sql})`, reason: wrongType };
}
