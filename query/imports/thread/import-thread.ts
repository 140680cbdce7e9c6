import { parentPort, workerData } from 'node:worker_threads';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import { fileFieldsOf, hasFiles, namesInValues } from '#records/file-fields.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { idsFrom } from '#records/keyed-insert.ts';
import { type FoundFiles, noFile } from '#records/record-files.ts';
import { wordOf } from '#records/sql/record-keys.ts';
import { RowBlock } from '#records/sql/row-block.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import { typeEntry } from '#records/types/field-types.ts';
import { namesIn } from '#records/types/file.ts';
import { FileProblem } from '../formats/file-problem.ts';
import { sourcePieces } from '../formats/source-records.ts';
import { mostProblems } from '../jobs/import-job.ts';
import { FileKeys, type RecordKeys } from './file-keys.ts';
import { type FileRecord, FileRecords, type RecordProblem } from './file-records.ts';
import type {
  BlockMessage,
  ReplyEnvelope,
  SendMessage,
  ThreadProgress,
  ThreadReply,
  ThreadTask,
} from './thread-messages.ts';

/** Records of a block, and bytes of its rows. Each block becomes one part of the table. */
const blockRecords = 50_000;
const blockBytes = 32 * 1024 * 1024;
/** Blocks that are stored concurrently: while one waits for the disk, the engine works on the other. */
const storedAtOnce = 2;
/** Milliseconds between two progress messages. */
const progressEvery = 500;
/** Records whose values are hashed in one request: a cancelled job ends between two of them. */
const hashedAtOnce = 100;
/** Records whose files are looked up in one request. */
const namedAtOnce = 500;
const noFiles: FoundFiles['texts'] = new Map();

/** A record that passed the checks of the thread. */
interface CheckedRecord {
  readonly values: RecordValues;
  readonly keys: RecordKeys;
  readonly files: FoundFiles['texts'];
}

const { signal } = new AbortController();
const port = parentPort;
/** Resolves the messages that wait for a reply, by number. */
const resolvers = new Map<number, (answer: ThreadReply) => void>();
let messages = 0;
/** Takes back the memory of a stored block. */
let reuse: (bytes: Uint8Array) => void = () => {};
port?.on('message', ({ id, answer, rows }: ReplyEnvelope) => {
  if (rows !== undefined) reuse(rows);
  resolvers.get(id)?.(answer);
  resolvers.delete(id);
});

const send: SendMessage = (message, transfer = []) => {
  const id = messages++;
  return new Promise((resolve) => {
    resolvers.set(id, resolve as (answer: ThreadReply) => void);
    port?.postMessage({ id, message }, transfer);
  });
};

/** Reads the file of an import, and sends its records to the process in blocks. */
class ImportThread {
  readonly #task: ThreadTask;
  readonly #keys: FileKeys;
  readonly #nextId: () => string;
  readonly #time: number;
  /** Places of fields whose values must be hashed. */
  readonly #hashedPlaces: readonly number[];
  #block: RowBlock;
  /** Memory of stored blocks, for the next ones. */
  readonly #buffers: Uint8Array[] = [];
  /** Records whose values still must be hashed. */
  #unhashed: CheckedRecord[] = [];
  #reportedAt = 0;
  #bytesRead = 0;
  #records = 0;
  #skipped = 0;
  #problems: RecordProblem[] = [];
  #problemCount = 0;
  /** Whether the file could not be read to its end. */
  #isCut = false;
  /** Blocks that the process is storing, the oldest first. */
  readonly #storing: Promise<unknown>[] = [];

  constructor(task: ThreadTask) {
    this.#task = task;
    this.#nextId = idsFrom(task.firstId);
    this.#time = Date.parse(task.createdAt);
    this.#keys = new FileKeys(task, send, (problem) => this.#addProblem(problem));
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
      const records = new FileRecords(space.structure, reading, (problem) => this.#addProblem(problem));
      for await (const piece of sourcePieces(path, reading, mostBytes)) {
        this.#bytesRead = piece.bytesRead;
        await this.#take(records.read(piece));
        this.#reportProgress();
        if (this.#isDone()) break;
      }
      await this.#hash();
      await this.#sendBlock();
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      this.#addProblem({ line: error.line, field: null, reason: error.message });
      this.#isCut = true;
    }
    await Promise.all(this.#storing);
    await send({ type: 'ended', progress: this.#progress(), isCut: this.#isCut });
  }

  /** Whether nothing will be stored, and enough problems are known. */
  #isDone(): boolean {
    return this.#isCheckOnly() && this.#problemCount >= mostProblems;
  }

  /** Whether records are only read to find their problems. */
  #isCheckOnly(): boolean {
    return !this.#task.skips && this.#problemCount > 0;
  }

  async #take(records: Iterable<FileRecord>): Promise<void> {
    if (!hasFiles(this.#task.space.structure)) return this.#check(records, noFiles);
    let some: FileRecord[] = [];
    const flush = async (): Promise<void> => {
      const files = await this.#filesOf(some);
      const checked = some.map((record) => this.#withFiles(record, files));
      some = [];
      await this.#check(checked, files);
    };
    for (const record of records) if (some.push(record) >= namedAtOnce) await flush();
    await flush();
  }

  /** The files that records name. */
  async #filesOf(records: readonly FileRecord[]): Promise<FoundFiles['texts']> {
    const { structure } = this.#task.space;
    const names = [
      ...new Set(records.flatMap(({ values }) => (values === null ? [] : namesInValues(structure, values)))),
    ];
    if (names.length === 0) return noFiles;
    const texts = await send<readonly string[]>({ type: 'files', names });
    return new Map(names.flatMap((name, at) => (texts[at] ? [[name, texts[at]] as const] : [])));
  }

  /** The record, with a problem if one of its files does not exist. */
  #withFiles(record: FileRecord, files: FoundFiles['texts']): FileRecord {
    const { values, line } = record;
    if (values === null) return record;
    for (const { field, place } of fileFieldsOf(this.#task.space.structure)) {
      const value = values[place] ?? null;
      if (value === null || namesIn(typeEntry(field.type), value).every((name) => files.has(name))) continue;
      this.#addProblem({ line, field: field.name, reason: noFile });
      return { ...record, values: null };
    }
    return record;
  }

  async #check(records: Iterable<FileRecord>, files: FoundFiles['texts']): Promise<void> {
    for (const record of records) {
      const { values } = record;
      this.#records++;
      const keys = values && this.#keys.of(record, values);
      if (values === null || keys === null) {
        this.#skipped++;
        continue;
      }
      if (this.#isCheckOnly()) continue;
      if (this.#hashedPlaces.length === 0) this.#add({ values, keys, files });
      else if (this.#unhashed.push({ values, keys, files }) >= hashedAtOnce) await this.#hash();
      if (this.#block.records >= blockRecords || this.#block.size >= blockBytes) await this.#sendBlock();
    }
  }

  #add({ values, keys, files }: CheckedRecord): void {
    const { system } = keys.record;
    this.#keys.place(keys, this.#block.records);
    const words = keys.unique.flatMap(({ hash }) => [wordOf(hash, 0), wordOf(hash, 4)]);
    const { id = this.#nextId(), createdAt = this.#time } = system;
    this.#block.add({ id, createdAt, updatedAt: system.updatedAt ?? createdAt, values, keys: words, files });
  }

  /** Hashes the values of waiting records, and adds these to the block. */
  async #hash(): Promise<void> {
    const records = this.#unhashed.map((record) => ({ ...record, values: [...record.values] }));
    this.#unhashed = [];
    const places = records.flatMap(({ values }) =>
      this.#hashedPlaces.flatMap((place) => ((values[place] ?? null) === null ? [] : { values, place })),
    );
    if (places.length > 0) {
      const unhashed = places.map(({ values, place }) => values[place] as StoredValue);
      const hashes = await send<readonly string[]>({ type: 'hashes', values: unhashed });
      for (const [index, { values, place }] of places.entries()) values[place] = hashes[index] as string;
    }
    for (const record of records) this.#add(record);
  }

  async #sendBlock(): Promise<void> {
    const block = this.#block;
    const { updated } = this.#keys;
    const leftOut = await this.#keys.settle();
    const records = block.records - leftOut.size;
    if (block.records === 0) return;
    this.#skipped += leftOut.size - (this.#keys.updated - updated);
    if (this.#storing.length >= storedAtOnce) await this.#storing.shift();
    this.#block = new RowBlock(this.#task.space, this.#buffers.pop());
    if (records === 0 || this.#isCheckOnly()) return;
    const { columns, types } = block;
    const rows = block.take(leftOut);
    const message: BlockMessage = {
      type: 'block',
      columns,
      types,
      rows,
      records,
      progress: this.#progress(),
    };
    this.#storing.push(send(message, [rows.buffer as ArrayBuffer]));
    await letOthersRun(signal);
  }

  /** Sends the progress, unless it was sent a moment ago. */
  #reportProgress(): void {
    if (performance.now() - this.#reportedAt < progressEvery) return;
    this.#reportedAt = performance.now();
    void send({ type: 'progress', progress: this.#progress() });
  }

  #addProblem(problem: RecordProblem): void {
    this.#problemCount++;
    if (this.#problemCount <= mostProblems) this.#problems.push(problem);
  }

  #progress(): ThreadProgress {
    const problems = this.#problems;
    this.#problems = [];
    return {
      bytesRead: this.#bytesRead,
      records: this.#records,
      skipped: this.#skipped,
      updated: this.#keys.updated,
      problems,
      problemCount: this.#problemCount,
    };
  }
}

void new ImportThread(workerData as ThreadTask).run();
