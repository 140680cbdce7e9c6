import { quoteIdentifier, textLiteral } from '../../common/clickhouse/literal.ts';
import type { Options, Sort } from '../input/parse-options.ts';
import type { Field } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';

/**
 * SQL for a record as JSON text, keyed by field name, without hashed fields; `prefix` comes before it.
 * The text has no raw line break, so it is one line of a TSVRaw result.
 */
export function recordExpression({ fields }: Structure, prefix = ''): string {
  const parts: string[] = [];
  let text = `${prefix}{"id":`;
  const append = (expression: string): void => {
    parts.push(textLiteral(text), expression);
    text = '';
  };
  append('toJSONString(_id)');
  for (const field of fields) {
    if (field.hashed) continue;
    text += `,${JSON.stringify(field.name)}:`;
    append(valueExpression(field));
  }
  text += ',"createdAt":';
  append('toJSONString(_created_at)');
  text += ',"updatedAt":';
  append('toJSONString(_updated_at)');
  parts.push(`'}'`);
  return `concat(${parts.join(', ')})`;
}

function valueExpression({ slug, type }: Field): string {
  const column = quoteIdentifier(slug);
  // these are stored as JSON text already
  const json = type === 'ARRAY' || type === 'OBJECT' ? column : `toJSONString(${column})`;
  // NULL in, NULL out: one would make the whole record NULL
  return `ifNull(${json}, 'null')`;
}

/** A SELECT of one text column, `_record`. @param where an expression; null: all records */
export function recordsSql(args: {
  space: RecordSpace;
  where: string | null;
  options: Pick<Options, 'sort' | 'page'>;
  prefix?: string;
}): string {
  const { space, where, options, prefix } = args;
  const { sort, page } = options;
  return [
    `SELECT ${recordExpression(space.structure, prefix)} AS _record FROM ${space.table}`,
    where === null ? '' : `WHERE ${where}`,
    `ORDER BY ${orderSql(sort)}`,
    page === null ? '' : `LIMIT ${page.limit} OFFSET ${page.offset}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** Ids grow with the time of insertion, so they break ties, and are the order when none is asked for. */
export function orderSql(sort: Sort | null): string {
  if (sort === null) return '_id';
  const direction = sort.descending ? 'DESC' : 'ASC';
  if (sort.systemKey === 'id') return `_id ${direction}`;
  const by = `${quoteIdentifier(sort.column)} ${direction} NULLS LAST`;
  // records of one millisecond are as old as their ids say
  return sort.systemKey === null ? `${by}, _id` : `${by}, _id ${direction}`;
}
