export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A line of a journal, with the name of its file and its number there, from 1. */
export interface JournalLine {
  readonly file: string;
  readonly number: number;
  readonly text: string;
}

/** Where an export is stored: a folder, or a prefix of a bucket. Paths are relative, with slashes. */
export interface ExportPlace {
  /** For messages. */
  readonly name: string;
  /** The files and folders at its top, without the journal's. */
  names(): Promise<readonly string[]>;
  /** Bytes of a file; null: there is none. */
  size(path: string): Promise<number | null>;
  /** The bytes of a file. Rejects if there is none. */
  read(path: string): AsyncIterable<Uint8Array>;
  /** Writes a file: once this resolves it is whole and durable, and if it rejects nothing is visible. @param bytes its size, if it is known */
  write(path: string, chunks: Chunks, bytes?: number): Promise<void>;
  /** Removes files, and folders with all that is in them. @param names at its top */
  remove(names: readonly string[]): Promise<void>;
  /** Removes what interrupted writes left. */
  removeUnfinished(): Promise<void>;
  /** All lines of the journal; none: there is no journal. The last line of a file may be incomplete. */
  journal(): AsyncIterable<JournalLine>;
  /** Begins the journal anew. Resolves when it is durable. */
  replaceJournal(start: Buffer, lines: Iterable<Buffer>): Promise<void>;
  /** Adds lines to the journal, which may become durable a little later. @param bytes of the items that they are about */
  appendJournal(lines: readonly Buffer[], bytes: number): Promise<void>;
  /** A folder for temporary files, which the caller removes. */
  workFolder(): Promise<string>;
  /** Stops running writes, and resolves when nothing is left of them. */
  close(): Promise<void>;
}

export const journalName = 'done.ndjson';

/** A journal in few chunks. */
export function* gathered(start: Buffer, lines: Iterable<Buffer>): Generator<Buffer> {
  let waiting = [start];
  let bytes = start.byteLength;
  for (const line of lines) {
    waiting.push(line);
    bytes += line.byteLength;
    if (bytes < 64 * 1024) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
