import { textLiteral } from '../../common/clickhouse/literal.ts';
import { caseVariants } from '../input/filters/case-variants.ts';
import { foldedColumn } from '../input/filters/folded-column.ts';
import type { Field } from '../structure/field.ts';
import { valueSql } from './value-sql.ts';

/**
 * An expression for WHERE: the column's text contains the given one, letter case ignored (case-variants.ts). The
 * engine's own functions are no help: by case-insensitive position and match some texts take a minute for 100 MB,
 * lowerUTF8 depends on the position of a letter, and all on the engine's edition of Unicode.
 */
export function containsSql(field: Field, text: string): string {
  const { fold, variantsIn } = caseVariants();
  const folded = fold(text);
  return `position(${foldedColumn(valueSql(field), variantsIn(folded))}, ${textLiteral(folded)}) > 0`;
}
