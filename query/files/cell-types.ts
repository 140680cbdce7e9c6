import { textLiteral } from '#engine/literal.ts';
import { cellVocabulary } from '../imports/thread/cell-words.ts';
import type { FileReading } from '../imports/thread/file-records.ts';

type CellOptions = Pick<FileReading, 'words' | 'nulls'>;

/** The text of a cell; NULL: no value. */
export function cellTextSql(cell: string, { nulls = [] }: CellOptions): string {
  return nulls.length === 0 ? cell : `if(${cell} IN (${nulls.map(textLiteral).join(', ')}), NULL, ${cell})`;
}

/** The text of a number, with a decimal point for the engine. */
export function numberTextSql(text: string, { words }: CellOptions): string {
  return cellVocabulary(words).hasComma ? `replaceOne(${text}, ',', '.')` : text;
}

/** Whether a text is a word for true, or for false. */
export function isBooleanSql(text: string, { words }: CellOptions, value: boolean): string {
  const literals = [...cellVocabulary(words).booleans].flatMap(([word, meaning]) =>
    meaning === value ? textLiteral(word) : [],
  );
  // `lower` only knows ASCII
  const lower = /^[\0-\x7f]*$/.test(literals.join('')) ? 'lower' : 'lowerUTF8';
  return `${lower}(${text}) IN (${literals.join(', ')})`;
}

/**
 * Whether a cell is no number that an import would read. The engine also reads `007`, `+5`, `.5`, `5.` and `5.e3`, and
 * rounds. The first regex accepts most numbers, so that the others are only asked about few.
 */
export function unfitNumberSql(cell: string, reading: CellOptions): string {
  const point = pointOf(reading);
  const isUsual = `match(${cell}, '^(-?(0|[1-9][0-9]{0,14})(${point}[0-9]{1,20})?([eE][+-]?[0-2]?[0-9]{1,2})?)?$')`;
  const isNumber = isNumberSql(cell, point);
  const number = `toFloat64OrZero(${numberTextSql(cell, reading)})`;
  return `NOT ${isUsual} AND (NOT ${isNumber} OR NOT isFinite(${number}) OR ${isRoundedSql(cell)} OR ${isVanishingSql(cell, number)})`;
}

function pointOf({ words }: CellOptions): string {
  return words?.decimal === ',' ? ',' : '[.]';
}

/** Whether a text is a number as JSON writes it. @param point a regex for its decimal separator */
export function isNumberSql(text: string, point = '[.]'): string {
  return `match(${text}, '^-?(0|[1-9][0-9]*)(${point}[0-9]+)?([eE][+-]?[0-9]+)?$')`;
}

/** Whether a text is an integer that a double would round. */
export function isRoundedSql(text: string): string {
  const exact = `toInt256OrZero(${text})`;
  const rounded = `toInt256(toFloat64OrZero(substring(${text}, 1, 39)))`;
  return `(match(${text}, '^-?[0-9]{16,}$') AND ${exact} != ${rounded})`;
}

/** Whether a double would make 0 of the text of another number. @param number the text as a double */
export function isVanishingSql(text: string, number: string): string {
  return `(${number} = 0 AND match(${text}, '^[^eE]*[1-9]'))`;
}
