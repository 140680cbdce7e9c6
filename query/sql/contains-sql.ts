import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Field } from '../structure/field.ts';
import { caseVariants } from './case-variants.ts';
import { valueSql } from './value-sql.ts';

/** Replacing one form takes a pass over the text; more of them are cheaper in one pass of a slower kind. */
const singlePasses = 8;

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

/** The column's text with those letters folded that the wanted text has; other letters don't matter. */
function foldedColumn(column: string, variants: ReadonlyMap<string, string>): string {
  let expression = column;
  if (variants.size <= singlePasses) {
    for (const [form, letter] of variants) {
      expression = `replaceAll(${expression}, ${textLiteral(form)}, ${textLiteral(letter)})`;
    }
  } else {
    const [from, to] = [[...variants.keys()], [...variants.values()]].map((chars) => chars.join(''));
    expression = `translateUTF8(${expression}, ${textLiteral(from as string)}, ${textLiteral(to as string)})`;
  }
  // A to Z, in a pass that is quick
  return `lower(${expression})`;
}
