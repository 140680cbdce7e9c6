import { quoteIdentifier, settingsText } from '#engine/literal.ts';
import type { FieldType } from '#records/types/field-types.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { keyTwice } from '../imports/formats/json-records.ts';
import { isLeftOut } from '../imports/formats/source-records.ts';
import type { FileReading } from '../imports/thread/file-records.ts';
import { anyType, isNumberSql, isRoundedSql, isVanishingSql, likeliestType, typeBits } from './cell-types.ts';
import {
  type FetchRows,
  type FileColumn,
  type FileLocation,
  type FileTable,
  jsonColumn,
  mostColumns,
  renamed,
  sampledRows,
  tableFunctionSql,
  tableOf,
  type Unfit,
  wrongType,
} from './file-columns.ts';

export async function ndjsonTable(
  isGzip: boolean,
  reading: FileReading,
  location: FileLocation,
  fetchRows: FetchRows,
): Promise<FileTable> {
  const lines = tableFunctionSql(location, 'JSONAsString', 'json String', isGzip);
  const { BOOLEAN, NUMBER, ARRAY, OBJECT } = typeBits;
  const types = `multiIf(kind = 'n', ${anyType}, kind IN ('t', 'f'), ${BOOLEAN}, kind = '[', ${ARRAY}, kind = '{', ${OBJECT},
    kind = '"', 0, ${NUMBER})`;
  const numbered = `SELECT json, rowNumberInAllBlocks() AS row FROM ${lines} LIMIT ${sampledRows}`;
  const pairs = `SELECT arrayJoin(arrayZip(JSONExtractKeysAndValuesRaw(json) AS all, arrayEnumerate(all))) AS pair, row,
    substring(pair.1.2, 1, 1) AS kind FROM (${numbered})`;
  const found = await fetchRows<{ name: string; isUtf8: number; isTwice: number; types: number }>(
    `SELECT pair.1.1 AS name, isValidUTF8(name) AS isUtf8, count() > uniqExact(row) AS isTwice,
    groupBitAnd(toUInt8(${types})) AS types FROM (${pairs}) GROUP BY name ORDER BY min((row, pair.2)) LIMIT ${mostColumns + 1}`,
  );
  if (found.some(({ isUtf8 }) => isUtf8 === 0)) throw new FileProblem(null, 'it is not valid UTF-8');
  // the engine takes the first of its values
  const twice = found.find(({ isTwice }) => isTwice === 1);
  if (twice !== undefined) throw new FileProblem(null, keyTwice(twice.name));
  const read = found.filter(({ name }) => !isLeftOut(name, reading));
  // no column of the engine can have this name
  if (read.some(({ name }) => name === '')) throw new FileProblem(null, 'one of its keys is empty');
  const inferred = read.map(({ name, types }) => ({
    name: quoteIdentifier(name),
    type: likeliestType(types),
  }));
  const structure = inferred.map(({ name }) => `${name} Nullable(String)`).join(', ');
  const columns = inferred.map(({ name: sql, type }, index) =>
    ndjsonColumn((read[index] as { readonly name: string }).name, type, sql),
  );
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_json_read_arrays_as_strings: 1,
    input_format_json_read_objects_as_strings: 1,
  });
  const from = (location: FileLocation) => tableFunctionSql(location, 'JSONEachRow', structure, isGzip);
  return { ...tableOf(renamed(columns, reading, null)), from, settings };
}

/** Values are read as they are written: the engine would round numbers, and take true for 1. */
function ndjsonColumn(name: string, type: FieldType, sql: string): FileColumn {
  const text = `assumeNotNull(${sql})`;
  const column = (value: string, isOfType: string): FileColumn => ({
    name,
    type,
    sql: `if(isNull(${sql}), NULL, ${value})`,
    unfits: [{ sql: `isNotNull(${sql}) AND NOT (${isOfType})`, reason: wrongType }],
  });
  switch (type) {
    case 'NUMBER': {
      const number = `toFloat64OrZero(${text})`;
      const changes = `${isRoundedSql(text)} OR ${isVanishingSql(text, number)}`;
      const isExact = `${isNumberSql(text)} AND isFinite(${number}) AND NOT (${changes})`;
      // most numbers are so short that a double can hold them
      const isShort = `match(${text}, '^-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$')`;
      return column(number, `${isShort} OR ${isExact}`);
    }
    case 'BOOLEAN':
      return column(`CAST(${text} = 'true', 'Bool')`, `${text} IN ('true', 'false')`);
    case 'ARRAY':
    case 'OBJECT': {
      const json = jsonColumn(name, type, sql, wrongType);
      return { ...json, unfits: [...(json.unfits ?? []), otherBytes(sql)] };
    }
    default:
      return { name, type, sql, unfits: [otherBytes(sql)] };
  }
}

/** The engine does not look at the bytes of a text. */
function otherBytes(sql: string): Unfit {
  return { sql: `NOT isValidUTF8(${sql})`, reason: wrongType };
}
