import { textLiteral } from '#engine/literal.ts';
import type { Comparison, Filter } from '../input/filters/filter.ts';
import { comparableValues } from '../input/filters/filter-test.ts';
import { type GivenSql, type Operand, operatorOf } from '../input/filters/operators.ts';
import { fieldTypes } from '../types/field-types.ts';
import { type ColumnType, columnType, listSql, pathSql, valueLiteral, valueSql } from './value-sql.ts';

/** A filter as an expression for WHERE: NULL counts as false. */
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
  const column = subjectSql({ target, path });
  const literals = isJson
    ? elementsOf(values)
    : literalsOf(operandTypes[operand] ?? columnType(target), values);
  return sql(column, { values: comparableValues(comparison), ...literals });
}

/** Types of operands that are not values of the field. */
const operandTypes: Partial<Record<Operand, ColumnType>> = {
  length: fieldTypes.NUMBER,
  boolean: fieldTypes.BOOLEAN,
};

function literalsOf(type: ColumnType, values: Comparison['values']): Omit<GivenSql, 'values'> {
  const [first] = values;
  return {
    literal: first === undefined ? '' : valueLiteral(type, first),
    list: '',
    isAmong: (expression) => (first === undefined ? 'false' : `${expression} IN ${listSql(type, values)}`),
  };
}

/** JSON texts as the engine writes them: it writes numbers differently from JavaScript. One call parses all texts of a list. */
function elementsOf(values: Comparison['values']): Omit<GivenSql, 'values'> {
  const list = `JSONExtractArrayRaw(${textLiteral(`[${values.join(',')}]`)})`;
  return { literal: `${list}[1]`, list, isAmong: (expression) => `has(${list}, ${expression})` };
}

/** The value of a field, or of a path within an object as JSON text. NULL if missing. */
export function subjectSql({ target, path }: Pick<Comparison, 'target' | 'path'>): string {
  const column = valueSql(target);
  return path.length === 0 ? column : pathSql(column, path);
}
