import { textLiteral } from '#engine/literal.ts';
import type { FieldType } from '#records/structure/field.ts';
import { knownWords } from '../imports/thread/cell-words.ts';
import type { FileReading } from '../imports/thread/file-records.ts';

/** Bits of the types that a cell may be of, as an import would say. The likeliest is the first one. */
export const typeBits = { BOOLEAN: 2, NUMBER: 1, ARRAY: 4, OBJECT: 8 } as const;
export const anyType = 15;

type Words = Pick<FileReading, 'words' | 'nulls'>;

/** The text of a cell; NULL: it has no value. */
export function cellTextSql(cell: string, { nulls = [] }: Words): string {
  return nulls.length === 0 ? cell : `if(${cell} IN (${nulls.map(textLiteral).join(', ')}), NULL, ${cell})`;
}

/** A number as the engine reads it. */
export function numberTextSql(text: string, { words }: Words): string {
  return knownWords(words).hasComma ? `replaceOne(${text}, ',', '.')` : text;
}

/** Whether a text in lower case is a word for true, or false. */
export function isBooleanSql(text: string, { words }: Words, value: boolean): string {
  const found = [...knownWords(words).booleans].flatMap(([word, meant]) =>
    meant === value ? textLiteral(word) : [],
  );
  return `lower(${text}) IN (${found.join(', ')})`;
}

/** Whether a text is an integer whose value no double has. */
export function isRoundedSql(text: string): string {
  const [exact, rounded] = [
    `toInt256OrZero(${text})`,
    `toInt256(toFloat64OrZero(substring(${text}, 1, 39)))`,
  ];
  return `(match(${text}, '^-?[0-9]{16,}$') AND ${exact} != ${rounded})`;
}

/** The types that a cell may be of. Tables have thousands of columns: each function counts. */
export function lookSql(cell: string, reading: Words = {}): string {
  const text = `assumeNotNull(${cell})`;
  const { words } = reading;
  const point = words?.decimal === ',' ? ',' : '[.]';
  const number = `match(${text}, '^-?(0|[1-9][0-9]*)(${point}[0-9]+)?([eE][+-]?[0-9]+)?$') AND NOT ${isRoundedSql(text)}`;
  const { BOOLEAN, NUMBER, ARRAY, OBJECT } = typeBits;
  const hasWords = words?.true !== undefined || words?.false !== undefined;
  const boolean = hasWords
    ? `${isBooleanSql(text, reading, true)} OR ${isBooleanSql(text, reading, false)}, ${BOOLEAN} + if(${number}, ${NUMBER}, 0)`
    : `lower(${text}) IN ('true', 'false'), ${BOOLEAN}`;
  return `multiIf(ifNull(${cell}, '') = '', ${anyType}, ${boolean}, ${number}, ${NUMBER},
    startsWith(${text}, '[') AND isValidJSON(${text}), ${ARRAY}, startsWith(${text}, '{') AND isValidJSON(${text}), ${OBJECT}, 0)`;
}

/** Of several types, and without values, it is text. */
export function typeByLook(look: number): FieldType {
  const types = Object.keys(typeBits) as (keyof typeof typeBits)[];
  return look === anyType ? 'TEXT' : (types.find((type) => (typeBits[type] & look) !== 0) ?? 'TEXT');
}
