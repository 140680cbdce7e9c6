import { parseExactly, RoundedNumber, roundingOf } from '#kernel/json/rounded-number.ts';
import type { Field } from '#records/structure/field.ts';
import { typeCan, typeEntry } from '#records/types/field-types.ts';
import { plainValue, unfitPart, unfitReason } from '../formats/table-cells.ts';
import { DecimalCell } from '../formats/typed-cells.ts';
import { type CellVocabulary, cellVocabulary } from './cell-words.ts';
import type { ReadResult } from './system-values.ts';

/** The value of a cell, as it would be in a JSON body. */
type CellResult = ReadResult<unknown>;

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const longInteger = /^-?\d{16,}$/;
const longNumber = /\d{16}|[eE]-\d{3}/;
const noValue = { value: undefined };
const jsonWords = cellVocabulary();

/** @param cell null: an empty cell without quotes */
export function readCell({ type }: Field, cell: string | null, words = jsonWords): CellResult {
  const { cell: form } = typeEntry(type);
  // an empty text is only a value where values are texts
  if (cell === null || (cell === '' && !typeCan(type, 'text'))) return noValue;
  switch (form) {
    case 'text':
      return { value: cell };
    case 'digits':
      return /^-?\d{1,40}$/.test(cell) ? { value: Number(cell) } : { problem: 'should be a whole number' };
    case 'number':
      return readNumber(cell, words);
    case 'boolean': {
      const value = words.booleans.get(cell.toLowerCase());
      return value === undefined ? { problem: 'should be true or false' } : { value };
    }
    case 'json':
      return readJson(cell, type);
  }
}

/** Reads a value of a table. Arrays and objects may be JSON texts, as exports write them. */
export function readTableCell({ type }: Field, value: unknown, nanIsNull: boolean): CellResult {
  if (typeEntry(type).isExact) {
    if (typeof value === 'bigint') return { value: String(value) };
    if (value instanceof DecimalCell) return { value: value.text };
  }
  const cell = plainValue(value, nanIsNull);
  if (cell === null) return noValue;
  const problem = unfitReason(cell) ?? unfitPart(cell);
  if (problem !== null) return { problem };
  return typeof cell === 'string' && typeEntry(type).isJson ? readJson(cell, type) : { value: cell };
}

function readNumber(text: string, { hasComma }: CellVocabulary): CellResult {
  const cell = hasComma ? withPoint(text) : text;
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

/** A number with a decimal comma as JSON; an empty text if it has a point. */
function withPoint(cell: string): string {
  return cell.includes('.') ? '' : cell.replace(',', '.');
}

export function hasDecimalComma(cell: string): boolean {
  return /^-?\d+,\d+$/.test(cell);
}

/** Whether a text is a number that a double holds without rounding an integer. */
export function isNumberCell(text: string, { hasComma }: CellVocabulary): boolean {
  const cell = hasComma ? withPoint(text) : text;
  return jsonNumber.test(cell) && !(mayBeRounded(cell, Number(cell)) && roundingOf(cell) !== null);
}

function mayBeRounded(cell: string, value: number): boolean {
  return value === 0 || longInteger.test(cell);
}

function readJson(cell: string, type: string): CellResult {
  try {
    // JSON.parse rounds none of the other numbers
    return { value: longNumber.test(cell) ? parseExactly(cell) : JSON.parse(cell) };
  } catch (error) {
    const detail = error instanceof RoundedNumber ? `: ${error.message}` : '';
    return { problem: `should be the JSON of an ${type}${detail}` };
  }
}
