import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CheckedLine, checkedLines, readCheckedLines } from './checked-lines.ts';
import { syncDirectory } from './durable-directories.ts';

/** An entry: a line of text, and data about it. */
export interface LogEntry extends CheckedLine {}

/** Entries of one file, written between two seals. */
export interface LogSegment<Entry extends LogEntry> {
  readonly entries: readonly Entry[];
  /** The unreadable part; null: everything was read. */
  readonly damage: LogDamage | null;
  /**
   * Removes the segment from the write-ahead log, and answers whether its file still existed. A damaged file is renamed
   * and kept: it may be the only copy of its entries.
   */
  drop(): Promise<boolean>;
}

export interface LogDamage {
  /** Lines whose checksum is wrong. */
  readonly lines: number;
  /** Bytes after the last line break: an interrupted write, or a damaged line break. */
  readonly tail: number;
  /** Its path after `drop`. */
  readonly keptAt: string;
}

interface PendingAppend<Entry> {
  readonly entry: Entry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface OpenSegment<Entry> {
  readonly handle: FileHandle;
  readonly path: string;
  readonly entries: Entry[];
  /** Bytes that are durably written. */
  length: number;
  /** Settles with the running write; never rejects. */
  writing: Promise<void>;
}

/** Pieces of one write. */
const mostPieces = 1000;
const suffix = '.wal';
const damagedSuffix = '.damaged';
/** Each write is on the disk when it returns. */
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC;

/**
 * Lines of text that are durable as soon as `append` resolves: one write to one file, shared by all concurrent callers.
 * However the process ends, its entries are found when the write-ahead log is opened again.
 */
export class WriteAheadLog<Entry extends LogEntry> {
  readonly #directory: string;
  readonly #waiting: PendingAppend<Entry>[] = [];
  #number: number;
  #segment: OpenSegment<Entry> | null = null;
  #working = false;

  private constructor(directory: string, number: number) {
    this.#directory = directory;
    this.#number = number;
  }

  /**
   * Makes the directory if it is missing.
   * @param entryOf parses an entry from a line @returns also the segments of earlier processes
   */
  static async open<Entry extends LogEntry>(
    directory: string,
    entryOf: (line: Uint8Array) => Entry,
  ): Promise<{ wal: WriteAheadLog<Entry>; left: readonly LogSegment<Entry>[] }> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    // even if it existed: the process that created it may not have called fsync
    await syncDirectory(dirname(directory));
    const names = (await readdir(directory)).filter((name) => /^\d{1,15}\.(wal|damaged)$/.test(name));
    const left: LogSegment<Entry>[] = [];
    for (const number of numbersOf(names.filter((name) => name.endsWith(suffix)))) {
      left.push(await readSegment(directory, number, entryOf));
    }
    return { wal: new WriteAheadLog(directory, (numbersOf(names).at(-1) ?? 0) + 1), left };
  }

  /** Resolves when the entry is on the disk. One that is rejected may still be found there. */
  append(entry: Entry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (!this.#working) void this.#writeAll();
    });
  }

  /** Entries since the last call; null: there are none. Later entries come into the next segment. */
  async seal(): Promise<LogSegment<Entry> | null> {
    const segment = this.#segment;
    this.#segment = null;
    if (segment === null) return null;
    await segment.writing;
    await segment.handle.close();
    return { entries: segment.entries, damage: null, drop: () => removeDurably(segment.path) };
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    this.#working = true;
    while (this.#waiting.length > 0) {
      // lets other entries join: a write costs much more than a line in it
      await new Promise<void>((resolve) => setImmediate(resolve));
      const batch = this.#waiting.splice(0);
      try {
        await this.#write(batch.map(({ entry }) => entry));
      } catch (error) {
        for (const { reject } of batch) reject(error);
        continue;
      }
      for (const { resolve } of batch) resolve();
    }
    // synchronous with the last check: later entries start a new write
    this.#working = false;
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    this.#segment ??= await this.#begin();
    const segment = this.#segment;
    const write = writeEntries(segment, entries);
    segment.writing = write.catch(() => {});
    await write;
  }

  async #begin(): Promise<OpenSegment<Entry>> {
    const path = join(this.#directory, `${this.#number++}${suffix}`);
    const handle = await open(path, flags, 0o600);
    try {
      await syncDirectory(this.#directory);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return { handle, path, entries: [], length: 0, writing: Promise.resolve() };
  }
}

/**
 * Even a power cut must not bring the file back: later changes may have bypassed the log. A missing file is not an error:
 * it would keep all later segments from the table.
 */
async function removeDurably(path: string): Promise<boolean> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  await syncDirectory(dirname(path));
  return true;
}

/** In ascending order. */
function numbersOf(names: readonly string[]): number[] {
  return names.map((name) => Number.parseInt(name, 10)).sort((a, b) => a - b);
}

async function readSegment<Entry extends LogEntry>(
  directory: string,
  number: number,
  entryOf: (line: Uint8Array) => Entry,
): Promise<LogSegment<Entry>> {
  const path = join(directory, `${number}${suffix}`);
  const { lines, damaged, tail } = readCheckedLines(await readFile(path));
  const entries = lines.map(entryOf);
  if (damaged === 0 && tail === 0) return { entries, damage: null, drop: () => removeDurably(path) };
  const keptAt = join(directory, `${number}${damagedSuffix}`);
  return {
    entries,
    damage: { lines: damaged, tail, keptAt },
    async drop() {
      await rename(path, keptAt);
      await syncDirectory(directory);
      return true;
    },
  };
}

async function writeEntries<Entry extends LogEntry>(
  segment: OpenSegment<Entry>,
  entries: readonly Entry[],
): Promise<void> {
  let pieces = checkedLines(entries);
  let end = segment.length;
  try {
    // at an explicit position, which overwrites the bytes of a failed write
    while (pieces.length > 0) {
      const { bytesWritten } = await writeAt(segment.handle, pieces, end);
      pieces = piecesAfter(pieces, bytesWritten);
      end += bytesWritten;
    }
  } catch (error) {
    // the rest of a failed write would look like damage after a shorter one
    await segment.handle.truncate(segment.length).catch(() => {});
    throw error;
  }
  segment.length = end;
  segment.entries.push(...entries);
}

function writeAt(
  handle: FileHandle,
  pieces: Uint8Array[],
  position: number,
): Promise<{ readonly bytesWritten: number }> {
  const [first, ...others] = pieces as [Uint8Array];
  return others.length === 0
    ? handle.write(first, 0, first.byteLength, position)
    : handle.writev(pieces.slice(0, mostPieces), position);
}

/** What is left after some of the bytes. */
function piecesAfter(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skipped = 0;
  for (const [index, piece] of pieces.entries()) {
    if (skipped + piece.byteLength > bytes)
      return [piece.subarray(bytes - skipped), ...pieces.slice(index + 1)];
    skipped += piece.byteLength;
  }
  return [];
}
