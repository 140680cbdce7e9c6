import type { RecordValues } from '../input/validate-record.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { kindOf, type SlotKind, slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import type { FieldTypeEntry } from '../types/field-type.ts';
import { typeEntry } from '../types/field-types.ts';
import { fileSlot, fileText, linkedText } from '../types/file.ts';
import { joinedText } from './joined-text.ts';
import { keyText } from './record-keys.ts';
import { type RecordRow, recordLines } from './record-row.ts';

const noFiles: ReadonlyMap<string, string> = new Map();

/** A record about to be stored. */
export interface NewRecord {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** In the order of the structure's fields. Hashed values are hashes already. */
  readonly values: RecordValues;
  /** The texts of its files by their names (`factsText`); absent: it has none. */
  readonly files?: ReadonlyMap<string, string> | undefined;
}

/** The key of a value of a unique field. */
export interface KeyOfRecord {
  /** Begins with the key (`hashOf`). */
  readonly hash: string;
  /** Position of its record in the request. */
  readonly index: number;
}

export function rowOf(
  { structure }: RecordSpace,
  { id, createdAt, values, files = noFiles }: NewRecord,
): RecordRow {
  const doc: Record<string, string> = {};
  const hashes: Record<string, string> = {};
  const parts = partsOf(structure);
  values.forEach((value, index) => {
    if (value === null) return;
    const { slot, kind, ofFile } = parts[index] as FieldParts;
    (kind === 'h' ? hashes : doc)[slot] = String(value);
    if (ofFile !== null) doc[ofFile.slot] = fileText(ofFile.entry, value, files);
  });
  return { row: { _id: id, _created_at: createdAt, _updated_at: createdAt, _doc: doc }, hashes };
}

export function newRecordLines(
  space: RecordSpace,
  records: readonly NewRecord[],
  unique: readonly KeyOfRecord[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const keys = keysOf(unique);
  const rows = records.map((record, index) => {
    const { row, hashes } = rowOf(space, record);
    return { spaceId: space.id, keys: keys.get(index), row, hashes };
  });
  return recordLines(rows, signal);
}

/** By the positions of their records. */
function keysOf(unique: readonly KeyOfRecord[]): ReadonlyMap<number, readonly string[]> {
  const keys = new Map<number, string[]>();
  for (const { hash, index } of unique) {
    const some = keys.get(index);
    if (some === undefined) keys.set(index, [keyText(hash)]);
    else some.push(keyText(hash));
  }
  return keys;
}

/** A record as find would return it once stored. */
export function newRecordJson(
  structure: Structure,
  { id, createdAt, values, files = noFiles }: NewRecord,
): string {
  const parts = partsOf(structure);
  let text = `{"id":"${id}"`;
  for (let index = 0; index < parts.length; index++) {
    const { kind, isQuoted, isSecret, answer, ofFile } = parts[index] as FieldParts;
    if (isSecret) continue;
    const value = kind === 'h' ? null : (values[index] ?? null);
    if (ofFile !== null && value !== null)
      text += answer + linkedText(fileText(ofFile.entry, value, files), ofFile.links);
    else text += answer + (isQuoted && typeof value === 'string' ? quoted(value) : value);
  }
  return `${text},"createdAt":"${createdAt}","updatedAt":"${createdAt}"}`;
}

/** Records as an array, as find would return them. @param records at least one */
export function newRecordsJson(
  structure: Structure,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const item = (record: NewRecord, index: number): string =>
    `${index === 0 ? '[' : ','}${newRecordJson(structure, record)}${index === records.length - 1 ? ']' : ''}`;
  return joinedText(records, item, signal);
}

/** Texts that need no escapes in JSON, as most do: the test takes half as long as the call that it saves. */
const plainText = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A field's part of the texts of all records. */
interface FieldParts {
  /** Whether answers quote its values. */
  readonly isQuoted: boolean;
  /** Never shown in answers. */
  readonly isSecret: boolean;
  readonly slot: string;
  readonly kind: SlotKind;
  /** Before its value in an answer. */
  readonly answer: string;
  /** Of a FILE: where its answer is stored. */
  readonly ofFile: {
    readonly slot: string;
    readonly entry: FieldTypeEntry;
    readonly links: string | undefined;
  } | null;
}

const known = new WeakMap<Structure, readonly FieldParts[]>();

function partsOf(structure: Structure): readonly FieldParts[] {
  let parts = known.get(structure);
  if (parts === undefined) {
    parts = structure.fields.map((field) => {
      const slot = slotOf(field);
      const entry = typeEntry(field.type);
      return {
        isQuoted: entry.isQuoted,
        isSecret: field.hashed || field.hidden === true,
        slot,
        kind: kindOf(slot),
        answer: `,${JSON.stringify(field.name)}:`,
        ofFile: entry.files === undefined ? null : { slot: fileSlot(slot), entry, links: field.links },
      };
    });
    known.set(structure, parts);
  }
  return parts;
}
