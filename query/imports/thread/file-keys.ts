import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { hashOf, wordOf } from '#records/sql/record-keys.ts';
import type { Field } from '#records/structure/field.ts';
import { slotOf } from '#records/structure/slots.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { FileRecord, RecordProblem } from './file-records.ts';
import { KeySet, mostKeys } from './key-set.ts';
import type { SendMessage, ThreadTask, UpsertedRecord } from './thread-messages.ts';

const hashCharacters = 8;
/** Values that are checked at once: few, so that V8 collects them while they are young. */
const checkedAtOnce = 4096;
/** Records that update stored ones in one request to the process. */
const upsertedAtOnce = 500;

interface UniqueValue {
  readonly field: Field;
  readonly value: StoredValue;
  readonly hash: string;
}

/** A record with its values of unique fields. */
export interface RecordKeys {
  readonly record: FileRecord;
  readonly unique: readonly UniqueValue[];
}

interface RecordInBlock {
  readonly keys: RecordKeys;
  /** The place of the record in the block. */
  readonly index: number;
}

interface ValueInBlock extends UniqueValue, RecordInBlock {}

/** Checks that no other record has the id of a record of a file, or its values of unique fields. */
export class FileKeys {
  readonly #task: ThreadTask;
  readonly #send: SendMessage;
  readonly #onProblem: (problem: RecordProblem) => void;
  readonly #keys = new KeySet();
  /** Places of unique fields. */
  readonly #places: readonly number[];
  /** Of the current block: values and ids that are not checked yet, and places of records that are left out. */
  #values: ValueInBlock[] = [];
  #ids: RecordInBlock[] = [];
  #leftOut = new Set<number>();
  #checks: Promise<void>[] = [];
  #upserts: UpsertedRecord[] = [];
  /** How many records updated stored ones. */
  updated = 0;

  constructor(task: ThreadTask, send: SendMessage, onProblem: (problem: RecordProblem) => void) {
    this.#task = task;
    this.#send = send;
    this.#onProblem = onProblem;
    const { fields } = task.space.structure;
    this.#places = [...fields.keys()].filter((place) => fields[place]?.unique);
  }

  /** The unique values of a record; null: an earlier record has its id, or one of the values. */
  of(record: FileRecord, values: RecordValues): RecordKeys | null {
    const { system, line } = record;
    if (system.id !== undefined && !this.#isNew(hashOf('id', system.id)))
      return this.#reportTaken('id', line, byEarlier);
    const { fields } = this.#task.space.structure;
    const unique: UniqueValue[] = [];
    for (const place of this.#places) {
      const field = fields[place] as Field;
      const value = values[place] ?? null;
      if (value === null) continue;
      const hash = hashOf(slotOf(field), value);
      if (!this.#isNew(hash)) return this.#reportTaken(field.name, line, byEarlier);
      unique.push({ field, value, hash });
    }
    if (this.#keys.size > mostKeys)
      throw new FileProblem(line, `it has more than ${mostKeys} values of unique fields; split it`);
    return { record, unique };
  }

  /** Adds a record at its place in the block. */
  place(keys: RecordKeys, index: number): void {
    // values that others store until the publication are found then
    if (this.#task.isEmpty) return;
    for (const unique of keys.unique) this.#values.push({ ...unique, keys, index });
    if (keys.record.system.id !== undefined) this.#ids.push({ keys, index });
    if (this.#values.length + this.#ids.length >= checkedAtOnce) this.#check();
  }

  /** Ends a block. Returns the places of its records that are left out. */
  async settle(): Promise<ReadonlySet<number>> {
    this.#check();
    const [leftOut, checks] = [this.#leftOut, this.#checks];
    this.#leftOut = new Set();
    this.#checks = [];
    await Promise.all(checks);
    for (const records of chunksOf(this.#upserts.splice(0), upsertedAtOnce)) {
      const problems = await this.#send<readonly RecordProblem[]>({ type: 'upserts', records });
      for (const problem of problems) this.#onProblem(problem);
      this.updated += records.length - problems.length;
    }
    return leftOut;
  }

  #isNew(hash: string): boolean {
    return this.#keys.add(wordOf(hash, 0), wordOf(hash, 4));
  }

  #reportTaken(field: string, line: number, why: string): null {
    this.#onProblem({ line, field, reason: `is unique, and ${why}` });
    return null;
  }

  #check(): void {
    const leftOut = this.#leftOut;
    if (this.#values.length > 0) this.#checks.push(this.#checkValues(this.#values, leftOut));
    if (this.#ids.length > 0) this.#checks.push(this.#checkIds(this.#ids, leftOut));
    this.#values = [];
    this.#ids = [];
  }

  async #checkValues(values: readonly ValueInBlock[], leftOut: Set<number>): Promise<void> {
    const hashes = values.map(({ hash }) => hash.slice(0, hashCharacters)).join('');
    const { onConflict } = this.#task;
    const suspectPlaces = await this.#send<readonly number[]>({ type: 'keys', hashes });
    if (suspectPlaces.length === 0) return;
    const suspects = suspectPlaces.map((place) => values[place] as ValueInBlock);
    const slotValues = suspects.map(({ field, value }) => ({ slot: slotOf(field), value }));
    const stored = await this.#send<readonly number[]>({ type: 'values', values: slotValues });
    const taken = stored.map((place) => suspects[place] as ValueInBlock);
    const isConflict = ({ field }: ValueInBlock): boolean => onConflict?.slot === slotOf(field);
    for (const { index, keys } of taken.filter(isConflict)) {
      leftOut.add(index);
      const { line, rawValues } = keys.record;
      if (onConflict?.do === 'update') this.#upserts.push({ line, rawValues });
    }
    for (const value of taken) {
      if (isConflict(value) || leftOut.has(value.index)) continue;
      leftOut.add(value.index);
      this.#reportTaken(value.field.name, value.keys.record.line, byStored);
    }
  }

  async #checkIds(records: readonly RecordInBlock[], leftOut: Set<number>): Promise<void> {
    const ids = records.map(({ keys }) => keys.record.system.id as string);
    for (const place of await this.#send<readonly number[]>({ type: 'ids', ids })) {
      const { keys, index } = records[place] as RecordInBlock;
      leftOut.add(index);
      this.#reportTaken('id', keys.record.line, byStored);
    }
  }
}

const byEarlier = 'an earlier record has the same value';
const byStored = 'a record with the same value is stored';
