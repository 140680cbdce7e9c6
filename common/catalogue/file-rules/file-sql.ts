import { type FileCondition, type FileField, optionalFields } from './file-rules.ts';
import { fileOperators, valueLiteral } from './operators.ts';

/** A condition without variables as SQL over the columns of files; 0 or 1. @param sizeSql a comparison of the size */
export function conditionSql(
  condition: FileCondition,
  sizeSql: (comparison: string) => string = (comparison) => comparison,
): string {
  if ('group' in condition) {
    const { group, branches } = condition;
    const parts = branches.map((branch) => `(${conditionSql(branch, sizeSql)})`);
    if (group === 'all') return parts.length === 0 ? '1' : parts.join(' AND ');
    const any = parts.length === 0 ? '0' : parts.join(' OR ');
    return group === 'any' ? any : `NOT (${any})`;
  }
  const { field, operator, values } = condition;
  const column = columns[field];
  if (operator === 'exists') {
    const hasValue = optionalFields.has(field) ? `${column} != ''` : '1';
    return values[0] === 1 ? hasValue : `NOT (${hasValue})`;
  }
  const comparison = fileOperators[operator].sql(column, values.map(valueLiteral));
  if (optionalFields.has(field)) return `${column} != '' AND (${comparison})`;
  return field === 'size' ? sizeSql(comparison) : comparison;
}

const columns: Readonly<Record<FileField, string>> = {
  id: 'id',
  name: 'name',
  originalName: 'original_name',
  contentType: 'content_type',
  size: 'size',
  owner: 'owner',
  folder: 'folder',
  createdAt: 'toUnixTimestamp64Milli(created_at)',
};
