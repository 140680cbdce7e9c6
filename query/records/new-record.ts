import type { RecordValues } from '../input/validate-record.ts';
import { keyText } from '../sql/records-table.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { kindOf, type SlotKind, slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import type { UniqueValue } from '../unique/unique-values.ts';
import { joinedText } from './joined-text.ts';
import { engineTime, type RecordRow } from './record-row.ts';

/** A record about to be stored. */
export interface NewRecord {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** By the fields of the structure. Hashed values are hashes already. */
  readonly values: RecordValues;
}

/** The row that stores a record. */
export function rowOf({ structure }: RecordSpace, { id, createdAt, values }: NewRecord): RecordRow {
  const doc: Record<string, string> = {};
  const hashes: Record<string, string> = {};
  values.forEach((value, index) => {
    if (value === null) return;
    const { slot, kind } = partsOf(structure)[index] as FieldParts;
    (kind === 'h' ? hashes : doc)[slot] = String(value);
  });
  return { row: { _id: id, _created_at: createdAt, _updated_at: createdAt, _doc: doc }, hashes };
}

/** Lines that store records: those that `recordLines` makes of their rows, without making the rows. */
export function newRecordLines(
  { id, structure }: RecordSpace,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const parts = partsOf(structure);
  return joinedText(records, (record) => newRecordLine(id, parts, record), signal);
}

function newRecordLine(
  spaceId: string,
  parts: readonly FieldParts[],
  { id, createdAt, values }: NewRecord,
): string {
  const time = engineTime(createdAt);
  let columns = `{"space":"${spaceId}","_id":"${id}","_created_at":"${time}","_updated_at":"${time}"`;
  let doc = '';
  let hashes = '';
  for (let index = 0; index < parts.length; index++) {
    const value = values[index] ?? null;
    if (value === null) continue;
    const { kind, column, key } = parts[index] as FieldParts;
    const text = typeof value === 'string';
    const json = text ? JSON.stringify(value) : String(value);
    // the maps have all values as text
    const quoted = text ? json : `"${json}"`;
    if (kind === 'h') {
      hashes += hashes === '' ? key + quoted : `,${key}${quoted}`;
      continue;
    }
    doc += doc === '' ? key + quoted : `,${key}${quoted}`;
    // numbers and booleans are kept as JSON writes them
    if (kind !== 'm') columns += column + json;
  }
  return `${columns},"_doc":{${doc}},"_hashes":{${hashes}}}\n`;
}

/** Rows for the table of keys, as `keyLines` makes them. @param unique what the records have in unique fields */
export function newKeyLines(
  { id: spaceId }: RecordSpace,
  records: readonly NewRecord[],
  unique: readonly UniqueValue[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const line = ({ hash, index }: UniqueValue): string =>
    `["${spaceId}",${keyText(hash)},"${(records[index] as NewRecord).id}"]\n`;
  return joinedText(unique, line, signal);
}

/** A record as find would answer it when it is stored. */
export function newRecordJson(structure: Structure, { id, createdAt, values }: NewRecord): string {
  const parts = partsOf(structure);
  let text = `{"id":"${id}"`;
  for (let index = 0; index < parts.length; index++) {
    const { kind, type, hashed, answer } = parts[index] as FieldParts;
    if (hashed) continue;
    const value = kind === 'h' ? null : (values[index] ?? null);
    // arrays and objects are JSON text
    text += answer + (type === 'TEXT' && value !== null ? JSON.stringify(value) : value);
  }
  return `${text},"createdAt":"${createdAt}","updatedAt":"${createdAt}"}`;
}

/** Records as an array, as find would answer them. @param records one at least */
export function newRecordsJson(
  structure: Structure,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const item = (record: NewRecord, index: number): string =>
    `${index === 0 ? '[' : ','}${newRecordJson(structure, record)}${index === records.length - 1 ? ']' : ''}`;
  return joinedText(records, item, signal);
}

/** What the texts of all records have of a field. */
interface FieldParts {
  readonly type: string;
  readonly hashed: boolean;
  readonly slot: string;
  readonly kind: SlotKind;
  /** Before its value in a row: as a column, and in a map. */
  readonly column: string;
  readonly key: string;
  /** Before its value in an answer. */
  readonly answer: string;
}

const known = new WeakMap<Structure, readonly FieldParts[]>();

function partsOf(structure: Structure): readonly FieldParts[] {
  let parts = known.get(structure);
  if (parts === undefined) {
    parts = structure.fields.map((field) => {
      const slot = slotOf(field);
      return {
        ...{ type: field.type, hashed: field.hashed, slot, kind: kindOf(slot) },
        ...{ column: `,"${slot}":`, key: `"${slot}":`, answer: `,${JSON.stringify(field.name)}:` },
      };
    });
    known.set(structure, parts);
  }
  return parts;
}
