import { forEachYielding } from '../../common/limits/yielding-loop.ts';
import type { RecordValues } from '../input/validate-record.ts';
import { keyOf } from '../sql/records-table.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';

/** A record about to be stored. Hashed values are hashes already. */
export interface NewRecord {
  readonly id: string;
  readonly createdAt: Date;
  readonly values: RecordValues;
}

/** A record as it is stored: what find may answer of it, and the hashes of its hashed fields by slot. */
export interface RecordRow {
  readonly row: StoredRow;
  readonly hashes: Readonly<Record<string, string>>;
}

export async function rowsOf(
  { structure: { fields } }: RecordSpace,
  records: readonly NewRecord[],
  signal: AbortSignal,
): Promise<readonly RecordRow[]> {
  const slots = fields.map(slotOf);
  const rows: RecordRow[] = [];
  const add = ({ id, createdAt, values }: NewRecord): void => {
    const time = createdAt.toISOString();
    const doc: Record<string, string> = {};
    const hashes: Record<string, string> = {};
    values.forEach((value, index) => {
      if (value === null) return;
      const slot = slots[index] as string;
      (kindOf(slot) === 'h' ? hashes : doc)[slot] = String(value);
    });
    rows.push({ row: { _id: id, _created_at: time, _updated_at: time, _doc: doc }, hashes });
  };
  await forEachYielding(records, add, signal);
  return rows;
}

/** Rows for the records table: JSONEachRow lines. */
export function recordLines(
  rows: readonly (RecordRow & { readonly spaceId: string })[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  return textOf(rows, recordLine, signal);
}

function recordLine({ spaceId, row, hashes }: RecordRow & { readonly spaceId: string }): string {
  const { _id, _created_at, _updated_at, _doc } = row;
  let text = `{"space":"${spaceId}","_id":${JSON.stringify(_id)}`;
  text += `,"_created_at":"${engineTime(_created_at)}","_updated_at":"${engineTime(_updated_at)}"`;
  for (const slot in _doc) {
    const kind = kindOf(slot);
    // numbers and booleans are kept as JSON writes them
    if (kind !== 'm') text += `,"${slot}":${kind === 't' ? JSON.stringify(_doc[slot]) : _doc[slot]}`;
  }
  return `${text},"_doc":${JSON.stringify(_doc)},"_hashes":${JSON.stringify(hashes)}}\n`;
}

/** An ISO 8601 time as the engine reads it in rows. */
function engineTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, -1)}`;
}

/** Rows for the table of keys: JSONCompactEachRow lines. @param slots whose values have keys */
export function keyLines(
  rows: readonly {
    readonly spaceId: string;
    readonly slots: readonly string[];
    readonly row: Pick<StoredRow, '_id' | '_doc'>;
  }[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const line = ({ spaceId, slots, row: { _id, _doc } }: (typeof rows)[0]): string => {
    let text = '';
    for (const slot of slots) {
      const value = _doc[slot];
      if (value !== undefined) text += `["${spaceId}",${keyOf(slot, value)},${JSON.stringify(_id)}]\n`;
    }
    return text;
  };
  return textOf(rows, line, signal);
}

/** Stored records as an array, as find would answer them. @param rows one at least */
export function storedArrayJson(
  structure: Structure,
  rows: readonly StoredRow[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const item = (row: StoredRow, index: number): string =>
    `${index === 0 ? '[' : ','}${storedJson(structure, row)}${index === rows.length - 1 ? ']' : ''}`;
  return textOf(rows, item, signal);
}

/** Characters that are made bytes of at once. */
const pieceLength = 64 * 1024;

async function textOf<Item>(
  items: readonly Item[],
  textOfOne: (item: Item, index: number) => string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let text = '';
  const add = (item: Item, index: number): void => {
    text += textOfOne(item, index);
    if (text.length < pieceLength && index < items.length - 1) return;
    pieces.push(Buffer.from(text));
    text = '';
  };
  await forEachYielding(items, add, signal);
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
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
  let text = `{"id":${JSON.stringify(row._id)}`;
  for (const field of fields) {
    if (field.hashed) continue;
    const value = row._doc[slotOf(field)];
    // all but text is stored as JSON writes it
    const json = field.type === 'TEXT' && value !== undefined ? JSON.stringify(value) : (value ?? null);
    text += `,${JSON.stringify(field.name)}:${json}`;
  }
  return `${text},"createdAt":"${row._created_at}","updatedAt":"${row._updated_at}"}`;
}
