import { textLiteral } from '#engine/literal.ts';

/** A value of a file: a text, bytes, or a time in milliseconds since 1970. */
export type FileValue = string | number;

/** An operator of rules of files: the same in SQL and in memory, for a file that has the value. */
interface FileOperator {
  readonly sql: (column: string, literals: readonly string[]) => string;
  readonly test: (value: FileValue, wanted: readonly FileValue[]) => boolean;
}

const ordering = (sign: string, isMet: (order: number) => boolean): FileOperator => ({
  sql: (column, [literal]) => `${column} ${sign} ${literal}`,
  test: (value, [wanted]) => isMet(compare(value, wanted as FileValue)),
});

const text = (
  sql: (column: string, literal: string) => string,
  isMet: (value: string, wanted: string) => boolean,
): FileOperator => ({
  sql: (column, [literal]) => sql(column, literal as string),
  test: (value, [wanted]) => isMet(String(value), String(wanted)),
});

const among = (column: string, literals: readonly string[]): string =>
  literals.length === 0 ? '0' : `${column} IN (${literals.join(', ')})`;

/** The operators of filters (docs/api.md) that rules of files have. `exists` is handled where they are called. */
export const fileOperators = {
  eq: {
    sql: (column, [literal]) => `${column} = ${literal}`,
    test: (value, [wanted]) => value === wanted,
  },
  ne: {
    sql: (column, [literal]) => `${column} != ${literal}`,
    test: (value, [wanted]) => value !== wanted,
  },
  in: { sql: among, test: (value, wanted) => wanted.includes(value) },
  nin: {
    sql: (column, literals) => `NOT (${among(column, literals)})`,
    test: (value, wanted) => !wanted.includes(value),
  },
  gt: ordering('>', (order) => order > 0),
  gte: ordering('>=', (order) => order >= 0),
  lt: ordering('<', (order) => order < 0),
  lte: ordering('<=', (order) => order <= 0),
  contains: text(
    (column, literal) => `position(${column}, ${literal}) > 0`,
    (value, wanted) => value.includes(wanted),
  ),
  startsWith: text(
    (column, literal) => `startsWith(${column}, ${literal})`,
    (value, wanted) => value.startsWith(wanted),
  ),
  endsWith: text(
    (column, literal) => `endsWith(${column}, ${literal})`,
    (value, wanted) => value.endsWith(wanted),
  ),
} as const satisfies Readonly<Record<string, FileOperator>>;

export type FileOperatorName = keyof typeof fileOperators | 'exists';

export const fileOperatorNames = [
  ...Object.keys(fileOperators),
  'exists',
] as readonly string[] as readonly FileOperatorName[];

export function valueLiteral(value: FileValue): string {
  return typeof value === 'string' ? textLiteral(value) : String(value);
}

/** Compares texts by code points, like the engine. */
function compare(a: FileValue, b: FileValue): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a > b) - Number(a < b);
}
