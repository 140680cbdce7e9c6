import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { firstByValues } from '#records/first-by-values.ts';
import type { Options } from '#records/input/parse-options.ts';
import { linesOf } from '#records/json-array.ts';
import { storedJson } from '#records/sql/record-row.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { Target } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import { readFieldValue, typeOfIds } from '#records/types/field-types.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { type Population, parsePopulate } from '../input/parse-populate.ts';
import { findNamed } from '../login/authorize.ts';
import { nobodyMay } from '../space/open-space.ts';
import type { QueryParts } from './operation.ts';

type PopulateParts = Pick<QueryParts, 'spaces' | 'authorize' | 'bind' | 'store'>;

type JsonRecord = Record<string, unknown>;

/** A population, and the space that it reads. `from` is null if no space has this name: then nothing matches. */
interface OpenPopulation extends Population {
  readonly from: { readonly space: RecordSpace; readonly target: Target } | null;
}

/** Records, and characters, that share one read of the other spaces. */
const blockRecords = 500;
const blockLength = 1024 ** 2;

/**
 * Prepares the `populate` option of a request; null: it has none. Only spaces of the same account and project that the
 * request may read are opened. Throws 400 and 401.
 */
export function preparePopulate(
  deps: PopulateParts,
  request: HttpRequest,
  space: RecordSpace,
  select: Options['select'],
): Promise<Populate> | null {
  const populations = parsePopulate(request, space.structure, select);
  return populations.length === 0 ? null : openPopulations(deps, request, space, populations);
}

async function openPopulations(
  { spaces, authorize, bind, store }: PopulateParts,
  request: HttpRequest,
  space: RecordSpace,
  populations: readonly Population[],
): Promise<Populate> {
  const { signal } = request;
  const { ownerId, structure, grants } = space;
  const { projectSlug } = structure;
  const open: OpenPopulation[] = [];
  for (const population of populations) {
    let from = await findNamed(spaces, population.space, { ownerId, projectSlug, grants }, signal);
    if (space.bound !== undefined) {
      if (from === null) throw nobodyMay('find');
      from = await bind({ request, space: from, operation: 'find' });
    }
    if (from !== null) {
      const operation = { name: 'find', family: 'find' } as const;
      await authorize({ request, operation, space: from, projectSlug, grants });
    }
    open.push({
      ...population,
      from: from === null ? null : { space: from, target: foreignKeyOf(population, from) },
    });
  }
  return new Populate(store, open, signal);
}

/** The field of the other space to search by. Keys of different types are refused: no value could match. */
function foreignKeyOf({ space, foreignKey, localKey }: Population, from: RecordSpace): Target {
  const refuse = (problem: string): Error =>
    invalidOptions([
      `Options: populate names the foreignKey ${shownName(foreignKey)} of the record space ${shownName(space)}, which ${problem}`,
    ]);
  const target = foreignKey === 'id' ? foreignKey : from.structure.lookup.get(foreignKey);
  if (target === undefined) throw refuse('is not a field of its structure');
  if (typeof target !== 'string' && target.hashed) throw refuse('is hashed');
  const [foreign, local] = [typeOf(target), typeOf(localKey)];
  if (foreign !== local) throw refuse(`is of type ${foreign}, and the localKey is of type ${local}`);
  return target;
}

function typeOf(target: Target): string {
  return typeof target === 'string' ? typeOfIds : target.type;
}

/** Adds to records the fields that the `populate` option names. */
export class Populate {
  readonly #store: RecordStore;
  readonly #populations: readonly OpenPopulation[];
  readonly #signal: AbortSignal;

  constructor(store: RecordStore, populations: readonly OpenPopulation[], signal: AbortSignal) {
    this.#store = store;
    this.#populations = populations;
    this.#signal = signal;
  }

  async one(record: string | null): Promise<string | null> {
    return record === null ? null : this.#populated([JSON.parse(record) as JsonRecord]);
  }

  /** Populates a JSON array block by block, so that memory does not grow with the number of records. */
  async *list(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let separator = '[';
    let block: JsonRecord[] = [];
    let length = 0;
    const flush = async (): Promise<Uint8Array> => {
      const bytes = Buffer.from(`${separator}${await this.#populated(block)}`);
      separator = ',\n';
      block = [];
      length = 0;
      return bytes;
    };
    for await (const line of linesOf(chunks)) {
      // each line begins with the separator before its record, and the last one ends the array: `[{…}`, `,{…}`, `]`
      const text = line.slice(1).replace(/\]$/, '');
      block.push(...(JSON.parse(`[${text}]`) as JsonRecord[]));
      length += line.length;
      if (block.length >= blockRecords || length >= blockLength) yield await flush();
    }
    if (block.length > 0) yield await flush();
    yield Buffer.from(separator === '[' ? '[]' : ']');
  }

  /** JSON texts of records, with commas between them. */
  async #populated(records: readonly JsonRecord[]): Promise<string> {
    // read all keys before adding fields: a new field may have the name of a key
    const keys = this.#populations.map((population) => records.map((record) => keyOf(record, population)));
    for (const [index, { from, newField }] of this.#populations.entries()) {
      const found = new Map<StoredValue, unknown>();
      const wanted = new Set((keys[index] ?? []).filter((key) => key !== null));
      if (from !== null && wanted.size > 0) {
        const rows = await firstByValues(this.#store, from, [...wanted], this.#signal);
        for (const [value, row] of rows) found.set(value, JSON.parse(storedJson(from.space.structure, row)));
      }
      records.forEach((record, at) => {
        const key = keys[index]?.[at] ?? null;
        record[newField] = key === null ? null : (found.get(key) ?? null);
      });
    }
    return records.map((record) => JSON.stringify(record)).join(',\n');
  }
}

/** The value of a record's local key, as the other space stores it; null: it has none. */
function keyOf(record: JsonRecord, { localKey, from }: OpenPopulation): StoredValue | null {
  if (typeof localKey === 'string') return record[localKey] as string;
  const value = record[localKey.name] ?? null;
  if (value === null) return null;
  const foreignKey = typeof from?.target === 'object' ? from.target : localKey;
  const reading = readFieldValue(foreignKey, value);
  return 'value' in reading ? reading.value : null;
}
