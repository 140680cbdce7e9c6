import { quoteIdentifier, settingsText } from '#engine/literal.ts';
import type { FieldType } from '#records/structure/field.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { anyType, likeliestType, typeBits } from './cell-types.ts';
import {
  type FetchRows,
  type FileColumn,
  type FileLocation,
  type FileTable,
  jsonColumn,
  mostColumns,
  sampledRows,
  tableFunctionSql,
  tableOf,
  wrongType,
} from './file-columns.ts';

export async function ndjsonTable(
  isGzip: boolean,
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
  const found = await fetchRows<{ name: string; types: number }>(
    `SELECT pair.1.1 AS name, groupBitAnd(toUInt8(${types})) AS types FROM (${pairs}) GROUP BY name
    ORDER BY min((row, pair.2)) LIMIT ${mostColumns + 1}`,
  );
  if (found.some(({ name }) => name === '')) throw new FileProblem(null, 'one of its keys is empty');
  const inferred = found.map(({ name, types }) => ({
    name: quoteIdentifier(name),
    type: likeliestType(types),
  }));
  const engineTypes: Partial<Record<FieldType, string>> = { NUMBER: 'Float64', BOOLEAN: 'Bool' };
  const structure = inferred
    .map(({ name, type }) => `${name} Nullable(${engineTypes[type] ?? 'String'})`)
    .join(', ');
  const columns = inferred.map(({ name: sql, type }, index): FileColumn => {
    const { name } = found[index] as { readonly name: string };
    if (type === 'ARRAY' || type === 'OBJECT') return jsonColumn(name, type, sql, wrongType);
    const unfit = { sql: `NOT isFinite(${sql})`, reason: wrongType };
    return type === 'NUMBER' ? { name, type, sql, unfit } : { name, type, sql };
  });
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_json_read_arrays_as_strings: 1,
    input_format_json_read_objects_as_strings: 1,
  });
  const from = (location: FileLocation) => tableFunctionSql(location, 'JSONEachRow', structure, isGzip);
  return { ...tableOf(columns), from, settings };
}
