import { parentPort, workerData } from 'node:worker_threads';
import { letOthersRun } from '../../common/limits/yielding-loop.ts';
import type { RecordValues } from '../input/validate-record.ts';
import { idsFrom } from '../records/insert-receipts.ts';
import { hashOf, wordOf } from '../sql/record-keys.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import { slotOf } from '../structure/slots.ts';
import { FileProblem } from './file-problem.ts';
import { FileRecords, type RecordProblem } from './file-records.ts';
import { textOf } from './file-text.ts';
import { mostProblems } from './import-job.ts';
import { KeySet, mostKeys } from './key-set.ts';
import { RowBlock } from './row-block.ts';
import type { Answered, Block, Question, ThreadProgress, ThreadTask, ToThread } from './thread-messages.ts';

/** Records, and bytes of rows, of a block: one part of the table. */
const blockRecords = 50_000;
const blockBytes = 32 * 1024 * 1024;
/** Blocks that are on their way: while one waits for the disk, the engine works on the other. */
const storedAtOnce = 2;
const hashCharacters = 8;
/** Records whose values are hashed between two looks at whether the job goes on. */
const hashedAtOnce = 100;

/** Values that are checked at once: few, so that they are never old when they go. */
const checkedAtOnce = 4096;

interface Unique {
  readonly field: Field;
  readonly value: StoredValue;
  readonly hash: string;
}

/** A value of a unique field, of a record at a place of the block. */
interface UniqueOfBlock extends Unique {
  readonly index: number;
  readonly line: number;
}

/** A record that has passed all checks of the thread. */
interface Checked {
  readonly values: RecordValues;
  readonly line: number;
  readonly unique: readonly Unique[];
}

const { signal } = new AbortController();
const port = parentPort;
/** Who waits for the answer to which question. */
const waiting = new Map<number, (answer: ToThread) => void>();
let questions = 0;
/** Takes back the memory of a block that is stored. */
let reuse: (bytes: Uint8Array) => void = () => {};
port?.on('message', ({ id, answer, rows }: Answered) => {
  if (rows !== undefined) reuse(rows);
  waiting.get(id)?.(answer);
  waiting.delete(id);
});

function ask<Answer extends ToThread>(message: Question, transfer: ArrayBuffer[] = []): Promise<Answer> {
  const id = questions++;
  return new Promise((resolve) => {
    waiting.set(id, resolve as (answer: ToThread) => void);
    port?.postMessage({ id, message }, transfer);
  });
}

class Reading {
  readonly #task: ThreadTask;
  readonly #keys = new KeySet();
  readonly #nextId: () => string;
  readonly #time: number;
  /** Places of fields with unique, and with hashed values. */
  readonly #uniquePlaces: readonly number[];
  readonly #hashedPlaces: readonly number[];
  /** The block that is filled, places of records that are left out of it, and unique values that are not checked. */
  #block: RowBlock;
  #leftOut = new Set<number>();
  #checks: Promise<void>[] = [];
  #unique: UniqueOfBlock[] = [];
  /** Buffers of blocks that are stored. */
  readonly #buffers: Uint8Array[] = [];
  /** Records with values to be hashed. */
  #unhashed: Checked[] = [];
  #bytesRead = 0;
  #records = 0;
  #skipped = 0;
  #problems: RecordProblem[] = [];
  #problemCount = 0;
  /** What comes behind a problem of the file is unknown. */
  #isCut = false;
  /** Blocks that the other side stores meanwhile, the oldest first. */
  readonly #storing: Promise<unknown>[] = [];

  constructor(task: ThreadTask) {
    this.#task = task;
    this.#nextId = idsFrom(task.firstId);
    this.#time = Date.parse(task.createdAt);
    const { fields } = task.space.structure;
    const placesOf = (is: (field: Field) => boolean) =>
      [...fields.keys()].filter((place) => is(fields[place] as Field));
    this.#uniquePlaces = placesOf(({ unique }) => unique);
    this.#hashedPlaces = placesOf(({ hashed }) => hashed);
    this.#block = new RowBlock(task.space);
    reuse = (bytes) => void this.#buffers.push(bytes);
  }

  async run(): Promise<void> {
    const { path, space, reading, mostBytes } = this.#task;
    const complain = (problem: RecordProblem) => this.#complain(problem);
    const records = new FileRecords(space.structure, reading, complain);
    try {
      for await (const { text, isLast, bytesRead } of textOf(path, mostBytes)) {
        this.#bytesRead = bytesRead;
        await this.#take(records, text, isLast);
        if (this.#isOver()) break;
      }
      await this.#hash();
      await this.#send();
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      this.#complain({ line: error.line, field: null, reason: error.message });
      this.#isCut = true;
    }
    await Promise.all(this.#storing);
    await ask({ type: 'ended', progress: this.#progress(), isCut: this.#isCut });
  }

  /** Nothing will be stored, and enough is known of why. */
  #isOver(): boolean {
    return this.#isVain() && this.#problemCount >= mostProblems;
  }

  /** Records are read for their problems alone. */
  #isVain(): boolean {
    return !this.#task.skips && this.#problemCount > 0;
  }

  async #take(records: FileRecords, text: string, isLast: boolean): Promise<void> {
    for (const { line, values } of records.read(text, isLast)) {
      this.#records++;
      const unique = values && this.#newKeys(values, line);
      if (values === null || unique === null) {
        this.#skipped++;
        continue;
      }
      if (this.#isVain()) continue;
      if (this.#hashedPlaces.length === 0) this.#add({ values, line, unique });
      else if (this.#unhashed.push({ values, line, unique }) >= hashedAtOnce) await this.#hash();
      if (this.#unique.length >= checkedAtOnce) this.#checks.push(this.#check(this.#leftOut));
      if (this.#block.records >= blockRecords || this.#block.size >= blockBytes) await this.#send();
    }
  }

  /** Notes the values of unique fields. Null: the file has one of them already. */
  #newKeys(values: RecordValues, line: number): Checked['unique'] | null {
    if (this.#uniquePlaces.length === 0) return noKeys;
    const { fields } = this.#task.space.structure;
    const own: Unique[] = [];
    for (const place of this.#uniquePlaces) {
      const field = fields[place] as Field;
      const value = values[place] ?? null;
      if (value === null) continue;
      const hash = hashOf(slotOf(field), value);
      if (!this.#keys.add(wordOf(hash, 0), wordOf(hash, 4))) {
        this.#complain({
          line,
          field: field.name,
          reason: 'is unique, and a record before has the same value',
        });
        return null;
      }
      own.push({ field, value, hash });
    }
    if (this.#keys.size > mostKeys)
      throw new FileProblem(line, `it has more than ${mostKeys} values of unique fields; split it`);
    return own;
  }

  #add({ values, line, unique }: Checked): void {
    const index = this.#block.records;
    const keys: number[] = [];
    for (const { field, value, hash } of unique) {
      keys.push(wordOf(hash, 0), wordOf(hash, 4));
      this.#unique.push({ field, value, hash, index, line });
    }
    this.#block.add(this.#nextId(), this.#time, values, keys);
  }

  /** Adds the records that wait for hashes of their values. */
  async #hash(): Promise<void> {
    const records = this.#unhashed.map((record) => ({ ...record, values: [...record.values] }));
    this.#unhashed = [];
    const places = records.flatMap(({ values }) =>
      this.#hashedPlaces.flatMap((place) => ((values[place] ?? null) === null ? [] : { values, place })),
    );
    if (places.length > 0) {
      const asked = places.map(({ values, place }) => values[place] as StoredValue);
      const hashes = await ask<readonly string[]>({ type: 'hashes', values: asked });
      for (const [index, { values, place }] of places.entries()) values[place] = hashes[index] as string;
    }
    for (const record of records) this.#add(record);
  }

  async #send(): Promise<void> {
    const [block, leftOut] = [this.#block, this.#leftOut];
    await Promise.all([...this.#checks, this.#check(leftOut)]);
    this.#checks = [];
    const records = block.records - leftOut.size;
    if (block.records === 0) return;
    this.#leftOut = new Set();
    this.#skipped += leftOut.size;
    if (this.#storing.length >= storedAtOnce) await this.#storing.shift();
    this.#block = new RowBlock(this.#task.space, this.#buffers.pop());
    if (records === 0 || this.#isVain()) return;
    const { columns, types } = block;
    const rows = block.take(leftOut);
    const message: Block = { type: 'block', columns, types, rows, records, progress: this.#progress() };
    this.#storing.push(ask(message, [rows.buffer as ArrayBuffer]));
    await letOthersRun(signal);
  }

  /** Finds records of the block with values that are stored already. @param leftOut gets their places */
  async #check(leftOut: Set<number>): Promise<void> {
    const unique = this.#unique;
    if (unique.length === 0) return;
    this.#unique = [];
    const hashes = unique.map(({ hash }) => hash.slice(0, hashCharacters)).join('');
    const { isEmpty } = this.#task;
    const suspects = await ask<readonly number[]>({ type: 'keys', hashes, isEmpty });
    if (suspects.length === 0) return;
    const asked = suspects.map((place) => unique[place] as UniqueOfBlock);
    const values = asked.map(({ field, value }) => ({ slot: slotOf(field), value }));
    for (const place of await ask<readonly number[]>({ type: 'values', values })) {
      const { field, index, line } = asked[place] as UniqueOfBlock;
      leftOut.add(index);
      this.#complain({
        line,
        field: field.name,
        reason: 'is unique, and a record with the same value is stored',
      });
    }
  }

  #complain(problem: RecordProblem): void {
    this.#problemCount++;
    if (this.#problemCount <= mostProblems) this.#problems.push(problem);
  }

  #progress(): ThreadProgress {
    const problems = this.#problems;
    this.#problems = [];
    const [bytesRead, records, skipped, problemCount] = [
      this.#bytesRead,
      this.#records,
      this.#skipped,
      this.#problemCount,
    ];
    return { bytesRead, records, skipped, problems, problemCount };
  }
}

const noKeys: Checked['unique'] = [];

await new Reading(workerData as ThreadTask).run();
