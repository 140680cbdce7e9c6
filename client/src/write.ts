import { type Abortable, ask, askRecords, checked, headerJson } from './ask.ts';
import type { Client } from './client.ts';
import { randomKey } from './random-key.ts';
import {
  type Changes,
  type Fields,
  type NamesOf,
  type NewRecord,
  type RecordOf,
  type ShownName,
  type Space,
  structureOf,
  type UniqueNames,
  type ValuesOfTypes,
  type Where,
} from './space.ts';

export interface InsertOptions extends Abortable {
  /** The idempotency key: repeated inserts with it are stored once. By default a random one. */
  readonly key?: string;
  readonly returning?: true;
}

/** Returns the number of records alone: the service makes no copy of them. */
export interface CountOnly extends Omit<InsertOptions, 'returning'> {
  readonly returning: false;
}

/** Stores all records, or none. */
export function insert<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  records: NewRecord<Of> | readonly NewRecord<Of>[],
  options: CountOnly,
): Promise<number>;
export function insert<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  records: readonly NewRecord<Of>[],
  options?: InsertOptions,
): Promise<RecordOf<Of>[]>;
export function insert<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  record: NewRecord<Of>,
  options?: InsertOptions,
): Promise<RecordOf<Of>>;
export async function insert(
  client: Client,
  space: Space,
  body: object,
  { key = randomKey(), returning, signal }: InsertOptions | CountOnly = {},
): Promise<unknown> {
  const minimal = returning === false && { prefer: 'return=minimal' };
  const answer = await store(client, space, {
    // only arrays have an answer without records
    body: minimal ? [body].flat() : body,
    signal,
    headers: { 'idempotency-key': key, ...minimal },
  });
  return minimal ? (answer as { inserted: number }).inserted : answer;
}

/** What happens to a record whose unique value is already stored. */
export interface UpsertOptions<Of extends Fields> extends Abortable {
  readonly on: UniqueNames<Of>;
  readonly do: 'update' | 'skip';
}

/** Inserts new records, and changes or skips stored ones. Returns the records as they are stored afterwards. */
export function upsert<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  records: readonly NewRecord<Of>[],
  options: UpsertOptions<Of>,
): Promise<RecordOf<Of>[]>;
export function upsert<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  record: NewRecord<Of>,
  options: UpsertOptions<Of>,
): Promise<RecordOf<Of>>;
export function upsert(
  client: Client,
  space: Space,
  body: object,
  { on: field, do: action, signal }: UpsertOptions<Fields>,
): Promise<unknown> {
  const options = headerJson({ onConflict: { field, do: action } });
  return store(client, space, { body, signal, headers: { options } });
}

function store(client: Client, space: Space, call: Parameters<typeof ask>[3]): Promise<unknown> {
  return askRecords(client, space, Array.isArray(call.body) ? '' : '/_single_', call);
}

const once = { repeatable: false };

/** Changes a record, and returns it. Not retried: without an answer, check whether it was changed. */
export function update<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  id: string,
  changes: Changes<Of>,
  { signal }: Abortable = {},
): Promise<RecordOf<Of>> {
  const path = `/update-by-id?id=${encodeURIComponent(id)}`;
  return askRecords(client, space, path, { ...once, body: changes, signal });
}

/** Numbers to add to fields, which must not be unique. */
export type Increments<Of extends Fields> = {
  readonly [Name in Exclude<
    NamesOf<Of, 'NUMBER' | 'INTEGER' | 'BIGINT' | 'DECIMAL'> & ShownName<Of>,
    UniqueNames<Of>
  >]?: ValuesOfTypes[Of[Name]['type']];
};

/** Adds to numbers of a record, and returns it. Concurrent additions all count. */
export function inc<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  id: string,
  by: Increments<Of>,
  options?: Abortable,
): Promise<RecordOf<Of>> {
  const changes = Object.entries(by).map(([name, $inc]) => [name, { $inc }]);
  return update(client, space, id, Object.fromEntries(changes) as Changes<Of>, options);
}

interface ManyOptions extends Abortable {
  /** Allows conditions that hold for every record, such as `{}`. Otherwise they are refused, as they may be a mistake. */
  readonly all?: boolean | undefined;
}

/** Changes all records that match, or none. Returns their number. */
export async function updateMany<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  where: Where<Of>,
  set: Changes<Of>,
  { inc, all, signal }: ManyOptions & { readonly inc?: Increments<Of> } = {},
): Promise<number> {
  const call = { ...once, body: { where: checked(where), all, set, inc }, signal };
  return (await ask<{ updated: number }>(client, space, '/_update_', call)).updated;
}

/** Deletes a record, and returns it. */
export function deleteOne<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  id: string,
  { signal }: Abortable = {},
): Promise<RecordOf<Of>> {
  return askRecords(client, space, `?id=${encodeURIComponent(id)}`, { ...once, method: 'DELETE', signal });
}

/** Deletes all records that match, or none. Returns their number. */
export async function deleteMany<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  where: Where<Of>,
  { all, signal }: ManyOptions = {},
): Promise<number> {
  const call = { ...once, body: { where: checked(where), all }, signal };
  return (await ask<{ deleted: number }>(client, space, '/_delete_', call)).deleted;
}

export interface StructureOptions extends Abortable {
  readonly authOptions?: {
    /** In a space of users: how long after a login its tokens can be renewed. */
    readonly sessionSeconds?: number;
    /** Whether operations need a login token (docs/api.md, "Spaces for logged-in users"). */
    readonly active: boolean;
    readonly space?: string;
    readonly scope?: readonly string[];
  };
}

/** Makes the space, or changes its fields. Missing fields stay as they are. */
export async function setStructure(
  client: Client,
  space: Space,
  { authOptions, signal }: StructureOptions = {},
): Promise<void> {
  await ask(client, space, '/set-structure', {
    body: { ...structureOf(space, client.project), authOptions },
    signal,
    headers: { mutate: 'true' },
  });
}
