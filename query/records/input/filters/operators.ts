import { textLiteral } from '#engine/literal.ts';
import { canonicalJson } from '../../types/canonical-json.ts';
import type { Ability, Comparable, ValueKind } from '../../types/field-type.ts';
import { fold, variantsIn } from './case-variants.ts';

/**
 * The operand of an operator: a value of the field's type, a list of them, an element of an array, a list of them, a
 * length, or true and false.
 */
export type Operand = 'value' | 'values' | 'element' | 'elements' | 'length' | 'boolean';

/** The operand as SQL. */
export interface GivenSql {
  readonly values: readonly Comparable[];
  /** The first of the values. */
  readonly literal: string;
  /** All of them as an array, where they are elements. */
  readonly list: string;
  /** SQL for whether an expression is one of them. */
  readonly isAmong: (expression: string) => string;
}

export interface Operator {
  /** What values need to be able to; absent: any value has the operator. */
  readonly needs?: Ability;
  readonly operand: Operand;
  /** The operand is a part of a text. */
  readonly isPart?: true;
  /** A SQL expression; NULL or false for a missing value. */
  readonly sql: (column: string, given: GivenSql) => string;
  /** The same in memory, for a record with a value. */
  readonly test: (values: readonly Comparable[]) => (value: Comparable) => boolean;
}

/** Replacing one form takes a pass over the text; more forms are cheaper in a single, slower pass. */
const singlePasses = 8;

const ordering = (sign: string, isMet: (order: number) => boolean): Operator => ({
  needs: 'ordered',
  operand: 'value',
  sql: (column, { literal }) => `${column} ${sign} ${literal}`,
  test([wanted]) {
    const order = comparedWith(wanted as Comparable);
    return (value) => isMet(order(value));
  },
});

type TextTest = (value: string, wanted: string) => boolean;

const text = (sql: (column: string, literal: string) => string, isMet: TextTest): Operator => ({
  needs: 'text',
  operand: 'value',
  isPart: true,
  sql: (column, { literal }) => sql(column, literal),
  test:
    ([wanted]) =>
    (value) =>
      isMet(value as string, wanted as string),
});

/** Ignores letter case, like search. */
const foldedText = (sql: (column: string, literal: string) => string, isMet: TextTest): Operator => ({
  needs: 'text',
  operand: 'value',
  isPart: true,
  sql(column, { values }) {
    const folded = fold(values[0] as string);
    return sql(foldedColumn(column, variantsIn(folded)), textLiteral(folded));
  },
  test([wanted]) {
    const folded = fold(wanted as string);
    return (value) => isMet(fold(value as string), folded);
  },
});

const containsSql = (column: string, literal: string): string => `position(${column}, ${literal}) > 0`;
const startsSql = (column: string, literal: string): string => `startsWith(${column}, ${literal})`;
const endsSql = (column: string, literal: string): string => `endsWith(${column}, ${literal})`;

/** The operators, in the order in which they are listed. A new operator is a new entry (CONTRIBUTING.md). */
export const operators = {
  eq: {
    operand: 'value',
    sql: (column, { literal }) => `${column} = ${literal}`,
    test:
      ([wanted]) =>
      (value) =>
        value === wanted,
  },
  ne: {
    operand: 'value',
    sql: (column, { literal }) => `${column} != ${literal}`,
    test:
      ([wanted]) =>
      (value) =>
        value !== wanted,
  },
  in: {
    needs: 'listed',
    operand: 'values',
    sql: (column, { isAmong }) => isAmong(column),
    test(values) {
      const wanted = new Set(values);
      return (value) => wanted.has(value);
    },
  },
  nin: {
    needs: 'listed',
    operand: 'values',
    sql: (column, { isAmong }) => `(${column} IS NOT NULL AND NOT ${isAmong(column)})`,
    test(values) {
      const wanted = new Set(values);
      return (value) => !wanted.has(value);
    },
  },
  exists: {
    operand: 'boolean',
    sql: (column, { values: [wanted] }) => `${column} IS ${wanted === true ? 'NOT NULL' : 'NULL'}`,
    test:
      ([wanted]) =>
      () =>
        wanted === true,
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
    needs: 'elements',
    operand: 'element',
    sql: (column, { literal }) => `has(${elementsSql(column)}, ${literal})`,
    test:
      ([wanted]) =>
      (value) =>
        elementsOf(value).has(wanted as string),
  },
  hasAny: {
    needs: 'elements',
    operand: 'elements',
    sql: (column, { list }) => `hasAny(${elementsSql(column)}, ${list})`,
    test(values) {
      const wanted = new Set(values);
      return (value) => [...elementsOf(value)].some((element) => wanted.has(element));
    },
  },
  hasAll: {
    needs: 'elements',
    operand: 'elements',
    // any array contains all of nothing, but there has to be an array
    sql: (column, { list }) => `(${column} IS NOT NULL AND hasAll(${elementsSql(column)}, ${list}))`,
    test(values) {
      const wanted = [...new Set(values)] as readonly string[];
      return (value) => {
        const elements = elementsOf(value);
        return wanted.length <= elements.size && wanted.every((element) => elements.has(element));
      };
    },
  },
  size: {
    needs: 'elements',
    operand: 'length',
    sql: (column, { literal }) => `JSONLength(${column}) = ${literal}`,
    test:
      ([wanted]) =>
      (value) =>
        (JSON.parse(value as string) as unknown[]).length === wanted,
  },
} as const satisfies Readonly<Record<string, Operator>>;

function elementsSql(column: string): string {
  return `JSONExtractArrayRaw(ifNull(${column}, '[]'))`;
}

function elementsOf(value: Comparable): ReadonlySet<string> {
  return new Set((JSON.parse(value as string) as unknown[]).map(canonicalJson));
}

/** Compares texts by code points, like the engine. JavaScript compares by UTF-16 units. */
export function compare(a: Comparable, b: Comparable): number {
  return comparedWith(b)(a);
}

function comparedWith(wanted: Comparable): (value: Comparable) => number {
  if (typeof wanted !== 'string') return (value) => (value < wanted ? -1 : Number(value > wanted));
  const bytes = Buffer.from(wanted);
  return (value) => Buffer.compare(Buffer.from(value as string), bytes);
}

export type OperatorName = keyof typeof operators;

export function operatorOf(name: OperatorName): Operator {
  return operators[name];
}

/** Null: no operator has the name. */
export function findOperator(name: string): Operator | null {
  return Object.hasOwn(operators, name) ? operatorOf(name as OperatorName) : null;
}

export function takesList({ operand }: Pick<Operator, 'operand'>): boolean {
  return operand === 'values' || operand === 'elements';
}

export function operatorsFor(kind: ValueKind): readonly OperatorName[] {
  return (Object.keys(operators) as OperatorName[]).filter((name) => isFor(kind, operatorOf(name)));
}

/** Whether values of a kind have an operator, or a function. */
export function isFor({ can }: ValueKind, { needs }: { readonly needs?: Ability }): boolean {
  return needs === undefined || can.includes(needs);
}

/** The column's text, with the letters folded that the wanted text has; other letters don't matter. */
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
  // A to Z, in a quick pass
  return `lower(${expression})`;
}
