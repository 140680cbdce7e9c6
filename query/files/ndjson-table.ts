import { quoteIdentifier, settingsText } from '#engine/literal.ts';
import type { FieldType } from '#records/structure/field.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { anyType, typeBits, typeByLook } from './column-looks.ts';
import {
  compactJson,
  type FileColumn,
  type FileSource,
  type FileTable,
  isJsonSql,
  mostColumns,
  type Rows,
  sampledRows,
  sourceSql,
  tableOf,
} from './file-columns.ts';

export async function ndjsonTable(isGzip: boolean, source: FileSource, rows: Rows): Promise<FileTable> {
  const lines = sourceSql(source, 'JSONAsString', 'json String', isGzip);
  const { BOOLEAN, NUMBER, ARRAY, OBJECT } = typeBits;
  const look = `multiIf(kind = 'n', ${anyType}, kind IN ('t', 'f'), ${BOOLEAN}, kind = '[', ${ARRAY}, kind = '{', ${OBJECT},
    kind = '"', 0, ${NUMBER})`;
  const numbered = `SELECT json, rowNumberInAllBlocks() AS row FROM ${lines} LIMIT ${sampledRows}`;
  const pairs = `SELECT arrayJoin(arrayZip(JSONExtractKeysAndValuesRaw(json) AS all, arrayEnumerate(all))) AS pair, row,
    substring(pair.1.2, 1, 1) AS kind FROM (${numbered})`;
  const found = await rows<{ name: string; look: number }>(
    `SELECT pair.1.1 AS name, groupBitAnd(toUInt8(${look})) AS look FROM (${pairs}) GROUP BY name
    ORDER BY min((row, pair.2)) LIMIT ${mostColumns + 1}`,
  );
  if (found.some(({ name }) => name === '')) throw new FileProblem(null, 'a key of it is empty');
  const given = found.map(({ name, look }) => ({ name: quoteIdentifier(name), type: typeByLook(look) }));
  const engineTypes: Partial<Record<FieldType, string>> = { NUMBER: 'Float64', BOOLEAN: 'Bool' };
  const structure = given
    .map(({ name, type }) => `${name} Nullable(${engineTypes[type] ?? 'String'})`)
    .join(', ');
  const columns = given.map(({ name: sql, type }, index): FileColumn => {
    const { name } = found[index] as { readonly name: string };
    const reason = 'is not of its type';
    if (type === 'NUMBER') return { name, type, sql, unfit: { sql: `NOT isFinite(${sql})`, reason } };
    if (type !== 'ARRAY' && type !== 'OBJECT') return { name, type, sql };
    const unfit = `isNotNull(${sql}) AND NOT ${isJsonSql(`assumeNotNull(${sql})`, type)}`;
    return { name, type, sql: compactJson(sql), unfit: { sql: unfit, reason } };
  });
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_json_read_arrays_as_strings: 1,
    input_format_json_read_objects_as_strings: 1,
  });
  const from = (at: FileSource) => sourceSql(at, 'JSONEachRow', structure, isGzip);
  return { ...tableOf(columns), from, settings };
}
