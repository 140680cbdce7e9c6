import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { hashOf, wordOf } from '#records/sql/record-keys.ts';
import type { Field, StoredValue } from '#records/structure/field.ts';
import { slotOf } from '#records/structure/slots.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { FileRecord, RecordProblem } from './file-records.ts';
import { KeySet, mostKeys } from './key-set.ts';
import type { Ask, ThreadTask, UpsertedRecord } from './thread-messages.ts';

const hashCharacters = 8;
/** Values that are checked at once: few, so that they are never old when they go. */
const checkedAtOnce = 4096;
/** Records that change stored ones at once. */
const upsertedAtOnce = 500;

interface UniqueValue {
  readonly field: Field;
  readonly value: StoredValue;
  readonly hash: string;
}

/** What is unique about a record. */
export interface RecordKeys {
  readonly record: FileRecord;
  readonly unique: readonly UniqueValue[];
}

interface Placed extends UniqueValue {
  readonly keys: RecordKeys;
  /** Of the block. */
  readonly index: number;
}

/** Values of unique fields, and ids, of the records of a file: no other record may have them. */
export class FileKeys {
  readonly #task: ThreadTask;
  readonly #ask: Ask;
  readonly #complain: (problem: RecordProblem) => void;
  readonly #keys = new KeySet();
  /** Places of unique fields. */
  readonly #places: readonly number[];
  /** Of the block that is filled: values and ids that are not checked, and places of records that are left out. */
  #values: Placed[] = [];
  #ids: Pick<Placed, 'keys' | 'index'>[] = [];
  #leftOut = new Set<number>();
  #checks: Promise<void>[] = [];
  #upserts: UpsertedRecord[] = [];
  /** Records that changed stored ones. */
  updated = 0;

  constructor(task: ThreadTask, ask: Ask, complain: (problem: RecordProblem) => void) {
    this.#task = task;
    this.#ask = ask;
    this.#complain = complain;
    const { fields } = task.space.structure;
    this.#places = [...fields.keys()].filter((place) => fields[place]?.unique);
  }

  /** Null: a record before has one of its keys. */
  of(record: FileRecord, values: RecordValues): RecordKeys | null {
    const { own, line } = record;
    if (own.id !== undefined && !this.#isNew(hashOf('id', own.id))) return this.#taken('id', line, before);
    const { fields } = this.#task.space.structure;
    const unique: UniqueValue[] = [];
    for (const place of this.#places) {
      const field = fields[place] as Field;
      const value = values[place] ?? null;
      if (value === null) continue;
      const hash = hashOf(slotOf(field), value);
      if (!this.#isNew(hash)) return this.#taken(field.name, line, before);
      unique.push({ field, value, hash });
    }
    if (this.#keys.size > mostKeys)
      throw new FileProblem(line, `it has more than ${mostKeys} values of unique fields; split it`);
    return { record, unique };
  }

  /** The record of these keys is at a place of the block. */
  place(keys: RecordKeys, index: number): void {
    // what is stored by the time of its publishing is found then
    if (this.#task.isEmpty) return;
    for (const unique of keys.unique) this.#values.push({ ...unique, keys, index });
    if (keys.record.own.id !== undefined) this.#ids.push({ keys, index });
    if (this.#values.length + this.#ids.length >= checkedAtOnce) this.#check();
  }

  /** Ends a block. Answers places of its records that are left out. */
  async settle(): Promise<ReadonlySet<number>> {
    this.#check();
    const [leftOut, checks] = [this.#leftOut, this.#checks];
    this.#leftOut = new Set();
    this.#checks = [];
    await Promise.all(checks);
    for (const records of chunksOf(this.#upserts.splice(0), upsertedAtOnce)) {
      const problems = await this.#ask<readonly RecordProblem[]>({ type: 'upserts', records });
      for (const problem of problems) this.#complain(problem);
      this.updated += records.length - problems.length;
    }
    return leftOut;
  }

  #isNew(hash: string): boolean {
    return this.#keys.add(wordOf(hash, 0), wordOf(hash, 4));
  }

  #taken(field: string, line: number, why: string): null {
    this.#complain({ line, field, reason: `is unique, and a record ${why}` });
    return null;
  }

  #check(): void {
    const leftOut = this.#leftOut;
    if (this.#values.length > 0) this.#checks.push(this.#checkValues(this.#values, leftOut));
    if (this.#ids.length > 0) this.#checks.push(this.#checkIds(this.#ids, leftOut));
    this.#values = [];
    this.#ids = [];
  }

  async #checkValues(placed: readonly Placed[], leftOut: Set<number>): Promise<void> {
    const hashes = placed.map(({ hash }) => hash.slice(0, hashCharacters)).join('');
    const { onConflict } = this.#task;
    const suspects = await this.#ask<readonly number[]>({ type: 'keys', hashes });
    if (suspects.length === 0) return;
    const asked = suspects.map((place) => placed[place] as Placed);
    const values = asked.map(({ field, value }) => ({ slot: slotOf(field), value }));
    const stored = await this.#ask<readonly number[]>({ type: 'values', values });
    const taken = stored.map((place) => asked[place] as Placed);
    const isConflict = ({ field }: Placed): boolean => onConflict?.slot === slotOf(field);
    for (const { index, keys } of taken.filter(isConflict)) {
      leftOut.add(index);
      const { line, given } = keys.record;
      if (onConflict?.do === 'update') this.#upserts.push({ line, given });
    }
    for (const one of taken) {
      if (isConflict(one) || leftOut.has(one.index)) continue;
      leftOut.add(one.index);
      this.#taken(one.field.name, one.keys.record.line, stillThere);
    }
  }

  async #checkIds(placed: readonly Pick<Placed, 'keys' | 'index'>[], leftOut: Set<number>): Promise<void> {
    const ids = placed.map(({ keys }) => keys.record.own.id as string);
    for (const place of await this.#ask<readonly number[]>({ type: 'ids', ids })) {
      const { keys, index } = placed[place] as Placed;
      leftOut.add(index);
      this.#taken('id', keys.record.line, stillThere);
    }
  }
}

const before = 'before has the same value';
const stillThere = 'with the same value is stored';
