import { quoteIdentifier } from '../../common/clickhouse/literal.ts';
import { timestampText } from '../../common/control/row-values.ts';
import { type StoredValue, systemColumns } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import type { RecordValues } from '../values/validate-record.ts';

/** A record about to be stored. Hashed values are hashes already. */
export interface NewRecord {
  readonly id: string;
  readonly createdAt: Date;
  readonly values: RecordValues;
}

/** How rows of a structure are laid out for an INSERT. */
export interface RowLayout {
  /** Quoted; in an order that depends on the set of fields only, so that requests with the same set share INSERTs. */
  readonly columns: readonly string[];
  /** For every column after the system's, the index of its field. */
  readonly order: readonly number[];
}

const layouts = new WeakMap<Structure, RowLayout>();

export function rowLayout(structure: Structure): RowLayout {
  const known = layouts.get(structure);
  if (known !== undefined) return known;
  const slugs = structure.fields.map(({ slug }) => slug);
  const order = slugs.map((_, index) => index);
  order.sort((a, b) => ((slugs[a] as string) < (slugs[b] as string) ? -1 : 1));
  const columns = [...Object.values(systemColumns), ...order.map((index) => slugs[index] as string)];
  const layout = { columns: columns.map(quoteIdentifier), order };
  layouts.set(structure, layout);
  return layout;
}

/** Rows as JSONCompactEachRow lines. */
export function rowLines({ order }: RowLayout, records: readonly NewRecord[]): Uint8Array {
  const lines: string[] = [];
  for (const { id, createdAt, values } of records) {
    const time = timestampText(createdAt);
    const row: (StoredValue | null)[] = [id, time, time];
    for (const index of order) row.push(values[index] ?? null);
    lines.push(`${JSON.stringify(row)}\n`);
  }
  return Buffer.from(lines.join(''));
}

/** A record as find would answer it. */
export function recordJson({ fields }: Structure, { id, createdAt, values }: NewRecord): string {
  let text = `{"id":${JSON.stringify(id)}`;
  fields.forEach((field, index) => {
    if (field.hashed) return;
    const value = values[index] ?? null;
    const nested = field.type === 'ARRAY' || field.type === 'OBJECT';
    // ARRAY and OBJECT are JSON text already
    text += `,${JSON.stringify(field.name)}:${nested && value !== null ? value : JSON.stringify(value)}`;
  });
  const time = JSON.stringify(createdAt);
  return `${text},"createdAt":${time},"updatedAt":${time}}`;
}
