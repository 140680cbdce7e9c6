import { inTurns } from '../../common/limits/in-turns.ts';
import { timestampText } from '../../common/metadata/row-values.ts';
import type { RecordValues } from '../input/validate-record.ts';
import { keyOf } from '../sql/records-table.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import type { RecordEffect } from './result-cache.ts';

/** A record about to be stored. Hashed values are hashes already. */
export interface NewRecord {
  readonly id: string;
  readonly createdAt: Date;
  readonly values: RecordValues;
}

/** Rows of the records table as JSONEachRow lines, and of their keys as JSONCompactEachRow lines. */
export interface Rows {
  readonly lines: Uint8Array;
  readonly keyLines: Uint8Array;
}

export async function rowsOf(
  { id: spaceId, structure }: RecordSpace,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<Rows> {
  const { fields } = structure;
  const slots = fields.map(slotOf);
  const unique = fields.flatMap((field, index) => (field.unique ? [index] : []));
  const line = ({ id, createdAt, values }: NewRecord): string => {
    const time = timestampText(createdAt);
    const row: Record<string, unknown> = { space: spaceId, _id: id, _created_at: time, _updated_at: time };
    const doc: Record<string, string> = {};
    const hashes: Record<string, string> = {};
    values.forEach((value, index) => {
      if (value === null) return;
      const slot = slots[index] as string;
      const kind = kindOf(slot);
      (kind === 'h' ? hashes : doc)[slot] = String(value);
      if (kind !== 'h' && kind !== 'm') row[slot] = value;
    });
    return `${JSON.stringify({ ...row, _doc: doc, _hashes: hashes })}\n`;
  };
  const keyLine = ({ id, values }: NewRecord): string => {
    let text = '';
    for (const index of unique) {
      const value = values[index] ?? null;
      if (value !== null) text += `["${spaceId}",${keyOf(slots[index] as string, value)},"${id}"]\n`;
    }
    return text;
  };
  return {
    lines: await textOf(records, line, signal),
    keyLines: unique.length === 0 ? new Uint8Array() : await textOf(records, keyLine, signal),
  };
}

/** What an insert did; null: to too many records to be told one by one. */
export function effectsOf(
  { structure: { fields } }: RecordSpace,
  records: readonly NewRecord[],
): readonly RecordEffect[] | null {
  if (records.length > fewRecords) return null;
  return records.map(({ id, values }) => {
    const doc: Record<string, string> = {};
    fields.forEach((field, index) => {
      const value = values[index] ?? null;
      if (value !== null && !field.hashed) doc[slotOf(field)] = String(value);
    });
    return { id, doc };
  });
}

/** Records whose effects on kept results are told apart. */
const fewRecords = 200;

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
  const time = createdAt.toISOString();
  return jsonOf(fields, { id, createdAt: time, updatedAt: time }, (_, index) => values[index] ?? null);
}

/** What `rowColumns` select of a record. */
export interface StoredRow {
  readonly _id: string;
  /** ISO 8601. */
  readonly _created_at: string;
  readonly _updated_at: string;
  /** Values by slot, as text. */
  readonly _doc: Readonly<Record<string, string>>;
}

/** Reading one map costs half of what ten columns do (docs/decisions/022-one-records-table.md). */
export const rowColumns = '_id, _created_at, _updated_at, _doc';

/** A stored record as find would answer it. */
export function storedJson({ fields }: Structure, row: StoredRow): string {
  const times = { id: row._id, createdAt: row._created_at, updatedAt: row._updated_at };
  return jsonOf(fields, times, (field) => row._doc[slotOf(field)] ?? null);
}

function jsonOf(
  fields: readonly Field[],
  {
    id,
    createdAt,
    updatedAt,
  }: { readonly id: string; readonly createdAt: string; readonly updatedAt: string },
  valueIn: (field: Field, index: number) => StoredValue | null,
): string {
  let text = `{"id":${JSON.stringify(id)}`;
  fields.forEach((field, index) => {
    if (field.hashed) return;
    const value = valueIn(field, index);
    // all but text is stored as JSON writes it
    const json = field.type === 'TEXT' && value !== null ? JSON.stringify(value) : String(value);
    text += `,${JSON.stringify(field.name)}:${json}`;
  });
  return `${text},"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`;
}
