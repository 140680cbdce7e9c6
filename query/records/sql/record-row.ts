import { valueAt } from '../input/filters/filter-test.ts';
import { type RecordParts, type ShownValue, wholeRecord } from '../structure/record-parts.ts';
import { kindOf, type SlotKind, slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import { wholeText } from '../types/column-text.ts';
import { typeEntry } from '../types/field-types.ts';
import { fileSlot, linkedText } from '../types/file.ts';
import { joinedText } from './joined-text.ts';
import { keyOf } from './record-keys.ts';
import type { StoredRow } from './stored-row.ts';

/** A record to store: the row that answers may show, and the hashes of its hashed fields by slot. */
export interface RecordRow {
  readonly row: StoredRow;
  readonly hashes: Readonly<Record<string, string>>;
}

export interface SpacedRow extends RecordRow {
  readonly spaceId: string;
  /** Keys of its values of unique fields (`keyOf`); absent: none. */
  readonly keys?: readonly string[] | undefined;
}

/** Rows for the records table: JSONEachRow lines. */
export function recordLines(rows: readonly SpacedRow[], signal: AbortSignal): Promise<Uint8Array> {
  return joinedText(rows, recordLine, signal);
}

function recordLine({ spaceId, row, hashes, keys = [] }: SpacedRow): string {
  const { _id, _created_at, _updated_at, _doc } = row;
  let text = `{"space":"${spaceId}","_id":${JSON.stringify(_id)}`;
  text += `,"_created_at":"${engineTime(_created_at)}","_updated_at":"${engineTime(_updated_at)}"`;
  for (const slot in _doc) {
    const kind = kindOf(slot);
    if (kind !== 'm') text += `,"${slot}":${columnJson(kind, _doc[slot] as string)}`;
  }
  if (keys.length > 0) text += `,"_keys":[${keys.join()}]`;
  return `${text},"_doc":${JSON.stringify(_doc)},"_hashes":${JSON.stringify(hashes)}}\n`;
}

/** The stored text of a value as JSON for its column. */
function columnJson(kind: SlotKind, text: string): string {
  if (kind === 't') return JSON.stringify(text);
  // numbers and booleans are kept as JSON writes them
  return kind === 'i' ? wholeText(text) : text;
}

/** An ISO 8601 time as the engine reads it in rows. */
export function engineTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, -1)}`;
}

/** Values that an update writes to a record, by slot. */
export interface UpdatedValues {
  readonly spaceId: string;
  readonly id: string;
  readonly doc: Readonly<Record<string, string>>;
}

/** Rows for the table of keys, which say that the records may have the values: JSONCompactEachRow lines. */
export function keyLines(rows: readonly UpdatedValues[], signal: AbortSignal): Promise<Uint8Array> {
  const line = ({ spaceId, id, doc }: UpdatedValues): string => {
    let text = '';
    for (const slot in doc)
      text += `["${spaceId}",${keyOf(slot, doc[slot] as string)},${JSON.stringify(id)}]\n`;
    return text;
  };
  return joinedText(rows, line, signal);
}

/** Reading one map costs half as much as ten columns (docs/decisions/022-one-records-table.md). */
export const rowColumns = '_id, _created_at, _updated_at, _doc';

/** Bytes of a record's values as text. */
export const valueBytes = 'arraySum(arrayMap(x -> length(x), mapValues(_doc)))';

/** A stored record as find returns it. */
export function storedJson(structure: Structure, row: StoredRow): string {
  return shownJson(row, wholeRecord(structure));
}

/** The same with only some parts. */
export function shownJson(row: StoredRow, shown: RecordParts): string {
  let text = '';
  for (const part of shown.parts) text += part.before + partJson(part, row);
  return text + shown.end;
}

function partJson({ target, path }: ShownValue, row: StoredRow): string {
  if (target === 'id') return JSON.stringify(row._id);
  if (typeof target === 'string') return `"${target === 'createdAt' ? row._created_at : row._updated_at}"`;
  const value = row._doc[slotOf(target)];
  if (value === undefined) return 'null';
  if (path.length > 0) return valueAt(value, path) ?? 'null';
  const { isQuoted, files } = typeEntry(target.type);
  if (files !== undefined) return linkedText(row._doc[fileSlot(slotOf(target))] ?? 'null', target.links);
  return isQuoted ? JSON.stringify(value) : value;
}
