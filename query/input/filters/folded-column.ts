import { textLiteral } from '../../../common/clickhouse/literal.ts';

/** Replacing one form takes a pass over the text; more of them are cheaper in one pass of a slower kind. */
const singlePasses = 8;

/** The column's text with those letters folded that the wanted text has; other letters don't matter. */
export function foldedColumn(column: string, variants: ReadonlyMap<string, string>): string {
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
