import { quoteIdentifier } from '../../common/clickhouse/literal.ts';
import { timestampText } from '../../common/control/row-values.ts';
import { inTurns } from '../../common/limits/in-turns.ts';
import type { RecordValues } from '../input/validate-record.ts';
import { type StoredValue, systemColumns } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';

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
export function rowLines(
  { order }: RowLayout,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const line = ({ id, createdAt, values }: NewRecord): string => {
    const time = timestampText(createdAt);
    const row: (StoredValue | null)[] = [id, time, time];
    for (const index of order) row.push(values[index] ?? null);
    return `${JSON.stringify(row)}\n`;
  };
  return textOf(records, line, signal);
}

/** The records of an insert, as find would answer them. */
export function recordsJson(
  structure: Structure,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const item = (record: NewRecord, index: number): string =>
    `${index === 0 ? '[' : ','}${recordJson(structure, record)}${index === records.length - 1 ? ']' : ''}`;
  return textOf(records, item, signal);
}

/** Characters that are made bytes of at once. */
const pieceLength = 64 * 1024;

async function textOf(
  records: readonly NewRecord[],
  textOfOne: (record: NewRecord, index: number) => string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let text = '';
  const add = (record: NewRecord, index: number): void => {
    text += textOfOne(record, index);
    if (text.length < pieceLength && index < records.length - 1) return;
    pieces.push(Buffer.from(text));
    text = '';
  };
  await inTurns(records, add, signal);
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
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
