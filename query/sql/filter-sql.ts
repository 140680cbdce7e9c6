import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Comparison, Filter } from '../input/filters/filter.ts';
import { comparable } from '../input/filters/filter-test.ts';
import { operatorOf } from '../input/filters/operators.ts';
import { valueLiteral, valueSql } from './value-sql.ts';

/** A filter as an expression for WHERE: NULL is as good as false. */
export function filterSql(filter: Filter): string {
  if (!('group' in filter)) return comparisonSql(filter);
  const parts = filter.branches.map(filterSql);
  switch (filter.group) {
    case 'all':
      return parts.length === 0 ? 'true' : `(${parts.join(' AND ')})`;
    case 'any':
      return parts.length === 0 ? 'false' : `(${parts.join(' OR ')})`;
    case 'none':
      return parts.length === 0 ? 'true' : `NOT ifNull(${parts.join(' OR ')}, false)`;
  }
}

function comparisonSql(comparison: Comparison): string {
  const { target, path, operator, values } = comparison;
  const { sql, operand } = operatorOf(operator);
  const isJson = path.length > 0 || operand === 'element' || operand === 'elements';
  const literals = values.map(isJson ? (value) => elementSql(String(value)) : valueLiteral);
  const column = path.length > 0 ? pathSql(valueSql(target), path) : valueSql(target);
  return sql(column, operand === 'boolean' ? [] : literals, values.map(comparable));
}

/** The value at a path of an object as JSON text, NULL where there is none. */
function pathSql(column: string, path: readonly string[]): string {
  const raw = `JSONExtractRaw(${column}, ${path.map(textLiteral).join(', ')})`;
  return `if(${raw} IN ('', 'null'), NULL, ${raw})`;
}

/** JSON text as the engine writes it, which differs from ours in numbers. */
function elementSql(text: string): string {
  return `JSONExtractRaw(${textLiteral(`[${text}]`)}, 1)`;
}
