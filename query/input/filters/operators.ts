import { textLiteral } from '../../../common/clickhouse/literal.ts';
import { canonicalJson } from '../../structure/canonical-json.ts';
import { caseVariants } from './case-variants.ts';
import type { ValueKind } from './filter.ts';
import { foldedColumn } from './folded-column.ts';

/**
 * What an operator compares with: a value of the field's type, a list of them, an element of an array, a list of them, a
 * length, or true and false.
 */
export type Operand = 'value' | 'values' | 'element' | 'elements' | 'length' | 'boolean';

/** A value as it is compared in memory: a time is its milliseconds. */
export type Comparable = string | number | boolean;

export interface Operator {
  readonly kinds: readonly ValueKind[];
  readonly operand: Operand;
  /** An expression, NULL where the column is. @param literals of the values, one where it takes one */
  readonly sql: (column: string, literals: readonly string[], values: readonly Comparable[]) => string;
  /** The same in memory. @param kind of the value */
  readonly meets: (value: Comparable, values: readonly Comparable[]) => boolean;
}

const all: readonly ValueKind[] = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'id', 'time', 'path'];
const listed: readonly ValueKind[] = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'id', 'time', 'path'];
const ordered: readonly ValueKind[] = ['NUMBER', 'TEXT', 'id', 'time'];

const ordering = (sign: string, meets: (order: number) => boolean): Operator => ({
  kinds: ordered,
  operand: 'value',
  sql: (column, [literal]) => `${column} ${sign} ${literal}`,
  meets: (value, [wanted]) => meets(compare(value, wanted as Comparable)),
});

const text = (sql: (column: string, literal: string) => string, meets: TextMatch): Operator => ({
  kinds: ['TEXT'],
  operand: 'value',
  sql: (column, [literal]) => sql(column, literal as string),
  meets: (value, [wanted]) => meets(value as string, wanted as string),
});

/** Letter case ignored, as search does. */
const foldedText = (sql: (column: string, literal: string) => string, meets: TextMatch): Operator => ({
  kinds: ['TEXT'],
  operand: 'value',
  sql(column, _, [wanted]) {
    const { fold, variantsIn } = caseVariants();
    const folded = fold(wanted as string);
    return sql(foldedColumn(column, variantsIn(folded)), textLiteral(folded));
  },
  meets(value, [wanted]) {
    const { fold } = caseVariants();
    return meets(fold(value as string), fold(wanted as string));
  },
});

const elements = (
  sql: (array: string, list: string, column: string) => string,
  meets: ElementsMatch,
): Operator => ({
  kinds: ['ARRAY'],
  operand: 'elements',
  sql: (column, literals) => sql(elementsSql(column), `[${literals.join(', ')}]`, column),
  meets: (value, wanted) => meets(elementsOf(value), wanted as readonly string[]),
});

type TextMatch = (value: string, wanted: string) => boolean;
type ElementsMatch = (elements: ReadonlySet<string>, wanted: readonly string[]) => boolean;

const containsSql = (column: string, literal: string): string => `position(${column}, ${literal}) > 0`;
const startsSql = (column: string, literal: string): string => `startsWith(${column}, ${literal})`;
const endsSql = (column: string, literal: string): string => `endsWith(${column}, ${literal})`;

/** The operators, in the order in which they are listed. One more is one more entry, and its case in the oracle's test. */
export const operators = {
  eq: {
    kinds: all,
    operand: 'value',
    sql: (column, [literal]) => `${column} = ${literal}`,
    meets: (value, [wanted]) => value === wanted,
  },
  ne: {
    kinds: all,
    operand: 'value',
    sql: (column, [literal]) => `${column} != ${literal}`,
    meets: (value, [wanted]) => value !== wanted,
  },
  in: {
    kinds: listed,
    operand: 'values',
    sql: (column, literals) => (literals.length === 0 ? 'false' : `${column} IN (${literals.join(', ')})`),
    meets: (value, wanted) => wanted.includes(value),
  },
  nin: {
    kinds: listed,
    operand: 'values',
    sql: (column, literals) =>
      literals.length === 0 ? `${column} IS NOT NULL` : `${column} NOT IN (${literals.join(', ')})`,
    meets: (value, wanted) => !wanted.includes(value),
  },
  exists: {
    kinds: all,
    operand: 'boolean',
    sql: (column, _, [wanted]) => `${column} IS ${wanted === true ? 'NOT NULL' : 'NULL'}`,
    meets: (_, [wanted]) => wanted === true,
  },
  gt: ordering('>', (order) => order > 0),
  gte: ordering('>=', (order) => order >= 0),
  lt: ordering('<', (order) => order < 0),
  lte: ordering('<=', (order) => order <= 0),
  contains: text(containsSql, (value, wanted) => value.includes(wanted)),
  startsWith: text(startsSql, (value, wanted) => value.startsWith(wanted)),
  endsWith: text(endsSql, (value, wanted) => value.endsWith(wanted)),
  icontains: foldedText(containsSql, (value, wanted) => value.includes(wanted)),
  istartsWith: foldedText(startsSql, (value, wanted) => value.startsWith(wanted)),
  iendsWith: foldedText(endsSql, (value, wanted) => value.endsWith(wanted)),
  has: {
    kinds: ['ARRAY'],
    operand: 'element',
    sql: (column, [literal]) => `has(${elementsSql(column)}, ${literal})`,
    meets: (value, [wanted]) => elementsOf(value).has(wanted as string),
  },
  hasAny: elements(
    (array, list) => `hasAny(${array}, ${list})`,
    (found, wanted) => wanted.some((one) => found.has(one)),
  ),
  hasAll: elements(
    // of nothing any array has all, but there has to be one
    (array, list, column) => `(${column} IS NOT NULL AND hasAll(${array}, ${list}))`,
    (found, wanted) => wanted.every((one) => found.has(one)),
  ),
  size: {
    kinds: ['ARRAY'],
    operand: 'length',
    sql: (column, [literal]) => `JSONLength(${column}) = ${literal}`,
    meets: (value, [wanted]) => (JSON.parse(value as string) as unknown[]).length === wanted,
  },
} as const satisfies Readonly<Record<string, Operator>>;

function elementsSql(column: string): string {
  return `JSONExtractArrayRaw(ifNull(${column}, '[]'))`;
}

function elementsOf(value: Comparable): ReadonlySet<string> {
  return new Set((JSON.parse(value as string) as unknown[]).map(canonicalJson));
}

/** Texts in the order of their code points, as the engine has them: not of UTF-16, in which JavaScript compares. */
function compare(a: Comparable, b: Comparable): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < b ? -1 : Number(a > b);
}

export type OperatorName = keyof typeof operators;

export function operatorOf(name: OperatorName): Operator {
  return operators[name];
}

export function operatorsFor(kind: ValueKind): readonly OperatorName[] {
  return (Object.keys(operators) as OperatorName[]).filter((name) => operatorOf(name).kinds.includes(kind));
}
