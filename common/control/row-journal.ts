import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { syncDirectory } from '../object-store/file-system/durable-directories.ts';

/** What is written: a line of text that ends with its only line break, and whatever is known of it. */
export interface JournalEntry {
  readonly line: Uint8Array;
}

/** Entries that belong together: they were written between two seals. */
export interface JournalSegment<Entry extends JournalEntry> {
  readonly entries: readonly Entry[];
  /** Removes it from the disk. */
  drop(): Promise<void>;
}

interface Waiting<Entry> {
  readonly entry: Entry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface OpenSegment<Entry> {
  readonly handle: FileHandle;
  readonly path: string;
  readonly entries: Entry[];
  /** Bytes that were written for good. */
  length: number;
  /** Settles with the write under way; never rejects. */
  writing: Promise<void>;
}

const suffix = '.journal';
/** Bytes before a line: its checksum, eight hexadecimal digits and a space. */
const markBytes = 9;
const lineBreak = 10;
/** Every write is on the disk when it returns. */
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC;

/**
 * Lines of text that are durable as soon as `append` resolves: one write to one file, shared by all that wait meanwhile.
 * What was written before the process ended, in whatever way, is found when the journal is opened again.
 */
export class RowJournal<Entry extends JournalEntry> {
  readonly #directory: string;
  readonly #waiting: Waiting<Entry>[] = [];
  #number: number;
  #segment: OpenSegment<Entry> | null = null;
  #working = false;

  private constructor(directory: string, number: number) {
    this.#directory = directory;
    this.#number = number;
  }

  /**
   * Makes the directory where it is missing.
   * @param entryOf makes an entry of a line that is found @returns also what an earlier process left there
   */
  static async open<Entry extends JournalEntry>(
    directory: string,
    entryOf: (line: Uint8Array) => Entry,
  ): Promise<{ journal: RowJournal<Entry>; left: readonly JournalSegment<Entry>[] }> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const numbers = (await readdir(directory))
      .filter((name) => /^\d{1,15}\.journal$/.test(name))
      .map((name) => Number.parseInt(name, 10))
      .sort((a, b) => a - b);
    const left: JournalSegment<Entry>[] = [];
    for (const number of numbers) {
      const path = join(directory, `${number}${suffix}`);
      left.push({ entries: wholeLines(await readFile(path)).map(entryOf), drop: () => unlink(path) });
    }
    return { journal: new RowJournal(directory, (numbers.at(-1) ?? 0) + 1), left };
  }

  /** Resolves when the entry is on the disk. One that is rejected may still be found there. */
  append(entry: Entry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (!this.#working) void this.#writeAll();
    });
  }

  /** What was appended since the last time; null when that is nothing. Later entries come into the next segment. */
  async seal(): Promise<JournalSegment<Entry> | null> {
    const segment = this.#segment;
    this.#segment = null;
    if (segment === null) return null;
    await segment.writing;
    await segment.handle.close();
    return { entries: segment.entries, drop: () => unlink(segment.path) };
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    this.#working = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        await this.#write(batch.map(({ entry }) => entry));
      } catch (error) {
        for (const { reject } of batch) reject(error);
        continue;
      }
      for (const { resolve } of batch) resolve();
    }
    // in the same step as the last look: whoever comes later begins anew
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

async function writeEntries<Entry extends JournalEntry>(
  segment: OpenSegment<Entry>,
  entries: readonly Entry[],
): Promise<void> {
  const bytes = Buffer.concat(entries.flatMap(({ line }) => [markOf(line), line]));
  let written = 0;
  // at a place of its own: what a write that failed has left is written over
  while (written < bytes.byteLength) {
    const place = segment.length + written;
    const { bytesWritten } = await segment.handle.write(bytes, written, bytes.byteLength - written, place);
    written += bytesWritten;
  }
  segment.length += bytes.byteLength;
  segment.entries.push(...entries);
}

function markOf(line: Uint8Array): Uint8Array {
  return Buffer.from(`${crc32(line).toString(16).padStart(8, '0')} `, 'latin1');
}

/** The lines from the beginning to the first that is not whole: a write that was cut off is the last. */
function wholeLines(bytes: Buffer): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf(lineBreak, at);
    if (end === -1) return lines;
    const line = bytes.subarray(at + markBytes, end + 1);
    if (!bytes.subarray(at, at + markBytes).equals(markOf(line))) return lines;
    lines.push(line);
    at = end + 1;
  }
}
