import { parseExactly, RoundedNumber, roundingOf } from '#kernel/json/rounded-number.ts';
import type { Field } from '#records/structure/field.ts';
import { plainValue, unfitPart, unfitReason } from '../formats/table-cells.ts';
import { type KnownWords, knownWords } from './cell-words.ts';

/** A cell as JSON of a body would say it, or its problem as the end of a sentence ("should be a valid number"). */
export type CellReading = { readonly value: unknown } | { readonly problem: string };

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const longInteger = /^-?\d{16,}$/;
const longNumber = /\d{16}|[eE]-\d{3}/;
const none = { value: undefined };
const jsonWords = knownWords();

/** @param cell null: nothing stands there */
export function readCell({ type }: Field, cell: string | null, words = jsonWords): CellReading {
  // an empty text is a value of TEXT alone
  if (cell === null || (cell === '' && type !== 'TEXT')) return none;
  switch (type) {
    case 'TEXT':
      return { value: cell };
    case 'NUMBER':
      return readNumber(cell, words);
    case 'BOOLEAN': {
      const value = words.booleans.get(cell.toLowerCase());
      return value === undefined ? { problem: 'should be true or false' } : { value };
    }
    default:
      return readJson(cell, type);
  }
}

/** A value of a table as JSON of a body would say it: arrays and objects may be texts of JSON, as exports write them. */
export function readTableCell({ type }: Field, given: unknown, nanIsNull: boolean): CellReading {
  const cell = plainValue(given, nanIsNull);
  if (cell === null) return none;
  const problem = unfitReason(cell) ?? unfitPart(cell);
  if (problem !== null) return { problem };
  return typeof cell === 'string' && (type === 'ARRAY' || type === 'OBJECT')
    ? readJson(cell, type)
    : { value: cell };
}

function readNumber(given: string, { hasComma }: KnownWords): CellReading {
  const cell = hasComma ? withPoint(given) : given;
  if (!jsonNumber.test(cell))
    return {
      problem:
        !hasComma && hasDecimalComma(cell)
          ? 'has a decimal comma, and should have a point'
          : 'should be a valid number',
    };
  const value = Number(cell);
  const rounding = mayBeRounded(cell, value) ? roundingOf(cell) : null;
  return rounding === null ? { value } : { problem: rounding };
}

/** A number as JSON has it. One with a point is none. */
function withPoint(cell: string): string {
  return cell.includes('.') ? '' : cell.replace(',', '.');
}

export function hasDecimalComma(cell: string): boolean {
  return /^-?\d+,\d+$/.test(cell);
}

/** Whether a text is a number that a double holds. */
export function isNumberCell(given: string, { hasComma }: KnownWords): boolean {
  const cell = hasComma ? withPoint(given) : given;
  return jsonNumber.test(cell) && !(mayBeRounded(cell, Number(cell)) && roundingOf(cell) !== null);
}

function mayBeRounded(cell: string, value: number): boolean {
  return value === 0 || longInteger.test(cell);
}

function readJson(cell: string, type: string): CellReading {
  try {
    // others are never rounded
    return { value: longNumber.test(cell) ? parseExactly(cell) : JSON.parse(cell) };
  } catch (error) {
    const what = error instanceof RoundedNumber ? `: ${error.message}` : '';
    return { problem: `should be the JSON of an ${type}${what}` };
  }
}
