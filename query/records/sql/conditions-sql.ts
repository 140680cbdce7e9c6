import { textLiteral } from '#engine/literal.ts';
import type { Filter } from '../input/filters/filter.ts';
import type { PageCursor } from '../input/parse-after.ts';
import { asFilter, type Condition, type Conditions, equals } from '../input/parse-conditions.ts';
import type { Sort, Sorts } from '../input/parse-sorts.ts';
import type { Field, Target } from '../structure/field.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { StoredValue } from '../types/field-type.ts';
import { typeEntry, typeOfResults } from '../types/field-types.ts';
import { filterSql } from './filter-sql.ts';
import { columnType, listSql, listsSql, valueLiteral, valueSql } from './value-sql.ts';

/** The conditions, except those on hashed fields, as an expression; null: no conditions, so every record matches. */
export function conditionsSql({ relationship, plain, others }: Omit<Conditions, 'hashed'>): string | null {
  if (plain.length + others.length === 0) return null;
  const parts = [...plain.map(equalitySql), ...others.map(filterSql)];
  return `(${parts.join(relationship === 'And' ? ' AND ' : ' OR ')})`;
}

function equalitySql({ target, value }: Condition): string {
  return `${valueSql(target)} = ${valueLiteral(columnType(target), value)}`;
}

export function idsSql(ids: readonly string[]): string {
  return `_id IN (${ids.map(textLiteral).join(', ')})`;
}

/** Whether so few records have a value that the index of values is worth its price. */
export type IsSelective = (field: Field, value: StoredValue) => boolean;

/**
 * The shortest list of ids and selective values such that every matching record has one of them. Null: there is no such list.
 */
export function selectiveConditions(
  { relationship, plain, others }: Omit<Conditions, 'hashed'>,
  isSelective: IsSelective,
): readonly Condition[] | null {
  const branches = [...plain.map(asFilter), ...others];
  return selectiveIn({ group: relationship === 'And' ? 'all' : 'any', branches }, isSelective);
}

function selectiveIn(filter: Filter, isSelective: IsSelective): readonly Condition[] | null {
  if (!('group' in filter)) {
    const { target, path, operator, values } = filter;
    if (operator !== 'eq' && operator !== 'in') return null;
    const areSelective =
      typeof target === 'string'
        ? target === 'id'
        : path.length === 0 &&
          !target.hashed &&
          values.every((value) => isSelective(target, value as StoredValue));
    return areSelective ? values.map((value) => equals(target, value)) : null;
  }
  if (filter.group === 'none') return null;
  const found = filter.branches.map((branch) => selectiveIn(branch, isSelective));
  if (filter.group === 'any')
    return found.length > 0 && found.every((each) => each !== null) ? found.flat() : null;
  return found.reduce(
    (fewest, each) => (each && each.length < (fewest?.length ?? Infinity) ? each : fewest),
    null,
  );
}

/** The conditions of `selectiveConditions` that need the index of values to find their records. */
export function indexedConditions(
  conditions: Omit<Conditions, 'hashed'>,
  isSelective: IsSelective,
): readonly Condition[] {
  const found = selectiveConditions(conditions, isSelective) ?? [];
  // the records are ordered by their ids
  return found.every(({ target }) => target === 'id') ? [] : found;
}

/** Records that have one of several lists of values in the fields. */
export function anyOfSql(fields: readonly Target[], values: readonly (readonly StoredValue[])[]): string {
  const types = fields.map(columnType);
  const [type, ...others] = types;
  const lists =
    type !== undefined && others.length === 0
      ? listSql(
          type,
          values.map(([value]) => value as StoredValue),
        )
      : listsSql(types, values);
  return `${tupleSql(fields.map(valueSql))} IN ${lists}`;
}

/** The columns that `orderSql` needs in addition to `columns`. */
export function orderColumns(sort: Sorts | null): readonly string[] {
  const fields = sort?.flatMap(({ target }) => (typeof target === 'string' ? [] : slotOf(target))) ?? [];
  return fields.filter((slot) => kindOf(slot) !== 'm');
}

/** Columns with the values of some fields, and each record's number, from 0, among the records with equal values, in order. */
export function placedColumns(fields: readonly Target[], sort: Sorts | null): string {
  const columns = fields.map(valueSql);
  const place = `row_number() OVER (PARTITION BY ${columns.join(', ')} ORDER BY ${orderSql(sort)}) - 1`;
  return ['_id', ...columns.map((column, at) => `${column} AS v${at}`), `${place} AS place`].join(', ');
}

/** Records of pages of one length, each of a list of values and a number from 0. @param placed a select of `placedColumns` */
export function pagesSql(
  { placed, fields }: { readonly placed: string; readonly fields: readonly Target[] },
  pages: readonly { readonly values: readonly StoredValue[]; readonly page: number }[],
  limit: number,
): string {
  const columns = pages[0]?.values.map((_, at) => `v${at}`) ?? [];
  const lists = listsSql(
    [...fields.map(columnType), typeEntry(typeOfResults)],
    pages.map(({ values, page }) => [...values, page]),
  );
  const isWanted = `${tupleSql([...columns, `intDiv(place, ${limit})`])} IN ${lists}`;
  return `_id IN (SELECT _id FROM (${placed}) WHERE ${isWanted})`;
}

function tupleSql(parts: readonly string[]): string {
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join(', ')})`;
}

/** Records that follow another one in the order of `orderSql`. */
export function afterSql(sort: Sorts | null, { id, values }: PageCursor): string {
  const behind = (index: number): string => {
    const one = sort?.[index];
    if (one === undefined || one.target === 'id')
      return `_id ${directionOfIds(sort, index)} ${textLiteral(id)}`;
    const { target, descending } = one;
    const by = valueSql(target);
    const value = values[index] ?? null;
    // records without a value come last
    if (value === null) return `(${by} IS NULL AND ${behind(index + 1)})`;
    const literal = valueLiteral(columnType(target), value);
    const isBehind = `${by} ${descending ? '<' : '>'} ${literal} OR (${by} = ${literal} AND ${behind(index + 1)})`;
    return `(${isBehind}${typeof target === 'string' ? '' : ` OR ${by} IS NULL`})`;
  };
  return behind(0);
}

function directionOfIds(sort: Sorts | null, index: number): '<' | '>' {
  const last = sort?.[index] ?? sort?.at(-1);
  return last !== undefined && breaksTiesDown(last) ? '<' : '>';
}

/** Ids grow with the time of insertion. They break ties, and are the default order. */
export function orderSql(sort: Sorts | null): string {
  if (sort === null) return '_id';
  const keys = sort.map(({ target, descending }) => {
    const direction = descending ? 'DESC' : 'ASC';
    return target === 'id' ? `_id ${direction}` : `${valueSql(target)} ${direction} NULLS LAST`;
  });
  if (sort.every(({ target }) => target !== 'id'))
    keys.push(breaksTiesDown(sort.at(-1) as Sort) ? '_id DESC' : '_id');
  return keys.join(', ');
}

/** Records of one millisecond are as old as their ids say. */
function breaksTiesDown({ target, descending }: Sort): boolean {
  return descending && typeof target === 'string';
}
