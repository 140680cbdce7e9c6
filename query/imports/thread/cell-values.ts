import { parseExactly, RoundedNumber, roundingOf } from '#kernel/json/rounded-number.ts';
import type { Field } from '#records/structure/field.ts';
import { plainValue } from '../formats/table-cells.ts';

/** A cell as JSON of a body would say it, or its problem as the end of a sentence ("should be a valid number"). */
export type CellReading = { readonly value: unknown } | { readonly problem: string };

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const longInteger = /^-?\d{16,}$/;
const longNumber = /\d{16}|[eE]-\d{3}/;
const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const none = { value: undefined };

/** @param cell null: nothing stands there */
export function readCell({ type }: Field, cell: string | null): CellReading {
  // an empty text is a value of TEXT alone
  if (cell === null || (cell === '' && type !== 'TEXT')) return none;
  switch (type) {
    case 'TEXT':
      return { value: cell };
    case 'NUMBER':
      return readNumber(cell);
    case 'BOOLEAN': {
      const value = booleans.get(cell.toLowerCase());
      return value === undefined ? { problem: 'should be true or false' } : { value };
    }
    default:
      return readJson(cell, type);
  }
}

/** A value of a table as JSON of a body would say it: arrays and objects may be texts of JSON, as exports write them. */
export function readTableCell({ type }: Field, given: unknown): CellReading {
  const cell = plainValue(given);
  if (cell === null) return none;
  if (typeof cell === 'bigint') return { problem: 'has more digits than a NUMBER can hold' };
  if (cell instanceof Uint8Array) return { problem: 'is bytes, which no field holds' };
  return typeof cell === 'string' && (type === 'ARRAY' || type === 'OBJECT')
    ? readJson(cell, type)
    : { value: cell };
}

function readNumber(cell: string): CellReading {
  if (!jsonNumber.test(cell))
    return {
      problem: /^-?\d+,\d+$/.test(cell)
        ? 'has a decimal comma, and should have a point'
        : 'should be a valid number',
    };
  const value = Number(cell);
  const rounding = mayBeRounded(cell, value) ? roundingOf(cell) : null;
  return rounding === null ? { value } : { problem: rounding };
}

/** Whether a text is a number that a double holds. */
export function isJsonNumber(cell: string): boolean {
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
