import { chunksOf } from '#kernel/limits/chunks-of.ts';
import { keyOf } from '../sql/record-keys.ts';
import { keyLines, recordLines, type UpdatedValues } from '../sql/record-row.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { addToList } from '../store/add-to-list.ts';
import type { Engine } from '../store/record-store.ts';
import type { UpdateValues } from '../store/update-values.ts';
import { kindOf } from '../structure/slots.ts';
import type { RecordWrite } from './known-records.ts';

interface NetChange {
  readonly spaceId: string;
  readonly id: string;
  /** Whether the first of the writes made the record. */
  readonly made: boolean;
  /** Positions among all writes: when the record was made, or last changed or removed. */
  at: number;
  row: StoredRow | null;
  hashes: Readonly<Record<string, string | null>>;
  changed: readonly string[];
  unique: readonly string[];
}

/** Rows of an INSERT, records of an UPDATE or DELETE, ids of a look-up. A small UPDATE costs nearly as much. */
const insertLimit = 20_000;
const changeLimit = 10_000;
const lookLimit = 1000;

/** Work that no client waits for is never aborted. */
const { signal: never } = new AbortController();

/**
 * Flushes writes into the table, with one statement for each kind of write. It is idempotent: repeating it after it
 * was cut off has the same result. @param again whether some writes may be in the table already
 */
export async function storeWrites(
  { db, table, values }: Engine & { readonly values: Pick<UpdateValues, 'wrote'> },
  writes: Iterable<RecordWrite>,
  again: boolean,
): Promise<void> {
  const nets = netOf(writes);
  const made = nets.filter((net) => net.made);
  const present = again ? await presentOf({ db, table }, made) : new Set<NetChange>();
  const inserted = made.filter((net) => net.row !== null && !present.has(net));
  const changed = nets.filter((net) => net.row !== null && (!net.made || present.has(net)));
  const removed = nets.filter((net) => net.row === null && (!net.made || present.has(net)));
  // concurrent reads must neither see a unique value twice, nor miss a record whose value changed
  const isEarly = isBefore([...inserted, ...changed]);
  const remove = async (some: readonly NetChange[]): Promise<void> => {
    for (const part of chunksOf(some, changeLimit)) await db.command(table.remove(part));
  };
  await remove(removed.filter(isEarly));
  for (const some of chunksOf(inserted, insertLimit)) {
    const lines = await recordLines(some.map(asRow), never);
    await db.insert({ ...table.recordRows, lines, home: homeOf(table, some) });
  }
  // a key without its value is harmless; a value without its key would not be found
  for (const some of chunksOf(changed, insertLimit)) {
    const lines = await keyLines(some.map(asValues), never);
    if (lines.byteLength > 0) await db.insert({ ...table.keyRows, lines, home: homeOf(table, some) });
    values.wrote(some.map(({ spaceId }) => spaceId));
  }
  for (const same of byShape(changed)) {
    for (const some of chunksOf(same, changeLimit))
      await db.command(table.update(some.map(asUpdate), new Date()));
  }
  await remove(removed.filter((net) => !isEarly(net)));
}

function netOf(writes: Iterable<RecordWrite>): readonly NetChange[] {
  const nets = new Map<string, NetChange>();
  let at = 0;
  for (const { spaceId, id, row, hashes, changed, unique } of writes) {
    at++;
    const key = `${spaceId} ${id}`;
    const net = nets.get(key);
    if (net === undefined) {
      nets.set(key, { spaceId, id, made: changed === null, at, row, hashes, changed: changed ?? [], unique });
      continue;
    }
    if (!net.made || row === null) net.at = at;
    net.row = row;
    net.hashes = { ...net.hashes, ...hashes };
    net.changed = union(net.changed, changed ?? []);
    net.unique = union(net.unique, unique);
  }
  return [...nets.values()];
}

/** Whether a record was removed before the last of these writes to its space. */
function isBefore(stored: readonly NetChange[]): (removed: NetChange) => boolean {
  const lastOf = new Map<string, number>();
  for (const { spaceId, at } of stored) lastOf.set(spaceId, Math.max(at, lastOf.get(spaceId) ?? 0));
  return ({ spaceId, at }) => at < (lastOf.get(spaceId) ?? 0);
}

/** The slots of both lists. Most writes to a record name the same slots. */
function union(some: readonly string[], more: readonly string[]): readonly string[] {
  return more.every((slot) => some.includes(slot)) ? some : [...new Set([...some, ...more])];
}

async function presentOf({ db, table }: Engine, nets: readonly NetChange[]): Promise<ReadonlySet<NetChange>> {
  const present = new Set<NetChange>();
  for (const some of chunksOf(nets, lookLimit)) {
    const rows = await db.rows<{ _space: string; _id: string }>(table.selectByIds(some, '_id'));
    const found = new Set(rows.map(({ _space, _id }) => `${_space} ${_id}`));
    for (const net of some) if (found.has(`${net.spaceId} ${net.id}`)) present.add(net);
  }
  return present;
}

function asRow({ spaceId, row, hashes, unique }: NetChange) {
  const set = Object.entries(hashes).filter((entry): entry is [string, string] => entry[1] !== null);
  const { _doc } = row as StoredRow;
  return { spaceId, row: row as StoredRow, hashes: Object.fromEntries(set), keys: keysOf(_doc, unique) };
}

function asValues({ spaceId, id, row, changed }: NetChange): UpdatedValues {
  const { _doc } = row as StoredRow;
  const set = changed.flatMap((slot) => {
    const value = _doc[slot];
    return value === undefined ? [] : [[slot, value] as const];
  });
  return { spaceId, id, doc: Object.fromEntries(set) };
}

function keysOf(doc: Readonly<Record<string, string>>, unique: readonly string[]): readonly string[] {
  return unique.flatMap((slot) => (doc[slot] === undefined ? [] : keyOf(slot, doc[slot])));
}

function asUpdate({ spaceId, id, row, hashes, changed }: NetChange) {
  const { _doc, _updated_at: updatedAt } = row as StoredRow;
  const assignments = [...changed].sort().map((slot) => ({
    slot,
    value: (kindOf(slot) === 'h' ? hashes[slot] : _doc[slot]) ?? null,
  }));
  return { spaceId, id, assignments, updatedAt };
}

/** Records with the same slots to set share a statement. */
function byShape(nets: readonly NetChange[]): Iterable<readonly NetChange[]> {
  const shapes = new Map<string, NetChange[]>();
  for (const net of nets) addToList(shapes, [...net.changed].sort().join(), net);
  return shapes.values();
}

function homeOf(table: RecordsTable, [first]: readonly NetChange[]): string {
  return table.homeOf((first as NetChange).spaceId);
}
