import { parentPort, workerData } from 'node:worker_threads';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { idsFrom } from '#records/keyed-insert.ts';
import { wordOf } from '#records/sql/record-keys.ts';
import type { StoredValue } from '#records/structure/field.ts';
import { FileProblem } from '../formats/file-problem.ts';
import { sourcePieces } from '../formats/source-records.ts';
import { mostProblems } from '../jobs/import-job.ts';
import { FileKeys, type RecordKeys } from './file-keys.ts';
import { type FileRecord, FileRecords, type RecordProblem } from './file-records.ts';
import { RowBlock } from './row-block.ts';
import type { Answered, Ask, Block, ThreadProgress, ThreadTask, ToThread } from './thread-messages.ts';

/** Records, and bytes of rows, of a block: one part of the table. */
const blockRecords = 50_000;
const blockBytes = 32 * 1024 * 1024;
/** Blocks that are on their way: while one waits for the disk, the engine works on the other. */
const storedAtOnce = 2;
/** Milliseconds. */
const toldEvery = 500;
/** Records whose values are hashed between two looks at whether the job goes on. */
const hashedAtOnce = 100;

/** A record that has passed all checks of the thread. */
interface Checked {
  readonly values: RecordValues;
  readonly keys: RecordKeys;
}

const { signal } = new AbortController();
const port = parentPort;
/** Questions without an answer yet, by their numbers. */
const waiting = new Map<number, (answer: ToThread) => void>();
let questions = 0;
/** Takes back the memory of a block that is stored. */
let reuse: (bytes: Uint8Array) => void = () => {};
port?.on('message', ({ id, answer, rows }: Answered) => {
  if (rows !== undefined) reuse(rows);
  waiting.get(id)?.(answer);
  waiting.delete(id);
});

const ask: Ask = (message, transfer = []) => {
  const id = questions++;
  return new Promise((resolve) => {
    waiting.set(id, resolve as (answer: ToThread) => void);
    port?.postMessage({ id, message }, transfer);
  });
};

class Reading {
  readonly #task: ThreadTask;
  readonly #keys: FileKeys;
  readonly #nextId: () => string;
  readonly #time: number;
  /** Places of fields whose values are to be hashed. */
  readonly #hashedPlaces: readonly number[];
  #block: RowBlock;
  /** Buffers of blocks that are stored. */
  readonly #buffers: Uint8Array[] = [];
  /** Records with values to be hashed. */
  #unhashed: Checked[] = [];
  #told = 0;
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
    this.#keys = new FileKeys(task, ask, (problem) => this.#complain(problem));
    const { fields } = task.space.structure;
    this.#hashedPlaces = task.reading.keep.includes('hashes')
      ? []
      : [...fields.keys()].filter((place) => fields[place]?.hashed);
    this.#block = new RowBlock(task.space);
    reuse = (bytes) => void this.#buffers.push(bytes);
  }

  async run(): Promise<void> {
    const { path, space, reading, mostBytes } = this.#task;
    try {
      const records = new FileRecords(space.structure, reading, (problem) => this.#complain(problem));
      for await (const piece of sourcePieces(path, reading, mostBytes)) {
        this.#bytesRead = piece.bytesRead;
        await this.#take(records.read(piece));
        this.#tell();
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

  async #take(records: Iterable<FileRecord>): Promise<void> {
    for (const record of records) {
      const { values } = record;
      this.#records++;
      const keys = values && this.#keys.of(record, values);
      if (values === null || keys === null) {
        this.#skipped++;
        continue;
      }
      if (this.#isVain()) continue;
      if (this.#hashedPlaces.length === 0) this.#add({ values, keys });
      else if (this.#unhashed.push({ values, keys }) >= hashedAtOnce) await this.#hash();
      if (this.#block.records >= blockRecords || this.#block.size >= blockBytes) await this.#send();
    }
  }

  #add({ values, keys }: Checked): void {
    const { own } = keys.record;
    this.#keys.place(keys, this.#block.records);
    const words = keys.unique.flatMap(({ hash }) => [wordOf(hash, 0), wordOf(hash, 4)]);
    const { id = this.#nextId(), createdAt = this.#time } = own;
    this.#block.add({ id, createdAt, updatedAt: own.updatedAt ?? createdAt, values, keys: words });
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
    const block = this.#block;
    const { updated } = this.#keys;
    const leftOut = await this.#keys.settle();
    const records = block.records - leftOut.size;
    if (block.records === 0) return;
    this.#skipped += leftOut.size - (this.#keys.updated - updated);
    if (this.#storing.length >= storedAtOnce) await this.#storing.shift();
    this.#block = new RowBlock(this.#task.space, this.#buffers.pop());
    if (records === 0 || this.#isVain()) return;
    const { columns, types } = block;
    const rows = block.take(leftOut);
    const message: Block = { type: 'block', columns, types, rows, records, progress: this.#progress() };
    this.#storing.push(ask(message, [rows.buffer as ArrayBuffer]));
    await letOthersRun(signal);
  }

  /** Says now and then how far it is. */
  #tell(): void {
    if (performance.now() - this.#told < toldEvery) return;
    this.#told = performance.now();
    void ask({ type: 'progress', progress: this.#progress() });
  }

  #complain(problem: RecordProblem): void {
    this.#problemCount++;
    if (this.#problemCount <= mostProblems) this.#problems.push(problem);
  }

  #progress(): ThreadProgress {
    const problems = this.#problems;
    this.#problems = [];
    const [bytesRead, records, skipped] = [this.#bytesRead, this.#records, this.#skipped];
    const [problemCount, { updated }] = [this.#problemCount, this.#keys];
    return { bytesRead, records, skipped, updated, problems, problemCount };
  }
}

void new Reading(workerData as ThreadTask).run();
