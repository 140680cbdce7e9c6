import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storageFull } from '#kernel/errors/catalogue.ts';
import type { StreamStatement } from './database.ts';
import { resultLimit, wholeBlockSettings } from './engine-settings.ts';
import { settingsText, textLiteral } from './literal.ts';
import { type ChunkSource, resultStream } from './result-stream.ts';

/**
 * Formats with a header or footer. The embedded engine makes each chunk of a stream a complete file, so such a result is
 * written to a file first, and read from there.
 */
const fileFormats: ReadonlySet<string> = new Set(['Parquet', 'Arrow']);

/** The share of the free disk space that a result may take. */
const roomShare = 0.5;
const pieceSize = 256 * 1024;

/** Rows of a block, and bytes of a row group: what is in memory until it is written. */
const settings = `max_block_size = 16384, preferred_block_size_bytes = 1048576,
  output_format_parquet_row_group_size_bytes = 4194304, output_format_parquet_row_group_size = 65536`;

export function isFileFormat(format: string): boolean {
  return fileFormats.has(format);
}

/** RowBinary for a table. */
export interface InsertedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly types: readonly string[];
  readonly rows: Uint8Array;
}

const insertSettings = settingsText({
  ...wholeBlockSettings,
  max_block_size: 100_000_000,
  max_threads: 1,
  max_insert_threads: 1,
  insert_deduplicate: 0,
});

/** Temporary files of results for slow readers, and of rows for the engine. A result's file is unlinked before it is read. */
export class ResultFiles {
  readonly #folder: string;

  /** Removes the files of a killed process. */
  constructor(folder: string) {
    this.#folder = folder;
    rmSync(folder, { recursive: true, force: true });
  }

  /** @param run runs a statement to its end */
  async insert(
    { table, columns, types, rows }: InsertedRows,
    run: (sql: string) => Promise<unknown>,
  ): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, randomUUID());
    const structure = columns.map((column, index) => `${column} ${types[index]}`).join(', ');
    try {
      await writeFile(path, rows);
      const source = `file(${textLiteral(path)}, 'RowBinary', ${textLiteral(structure)})`;
      await run(
        `INSERT INTO ${table} (${columns.join(', ')}) SELECT * FROM ${source} SETTINGS ${insertSettings}`,
      );
    } finally {
      await rm(path, { force: true });
    }
  }

  /**
   * The bytes of a result.
   * @param run runs a statement to its end; `limits` is part of its SETTINGS
   * @param release called when the file is closed
   * @throws a 507 if there is not enough disk space
   */
  async read(
    { sql, format, signal }: Pick<StreamStatement, 'sql' | 'format' | 'signal'>,
    run: (statement: string, limits: string) => Promise<unknown>,
    release: () => void,
  ): Promise<AsyncIterable<Uint8Array>> {
    mkdirSync(this.#folder, { recursive: true });
    const { bavail, bsize } = await statfs(this.#folder);
    const room = Math.floor(bavail * bsize * roomShare);
    const path = join(this.#folder, randomUUID());
    let file: FileHandle;
    try {
      await run(
        `${sql} INTO OUTFILE ${textLiteral(path)} FORMAT ${format}`,
        `${settings}, ${resultLimit(room)}`,
      );
      file = await open(path);
    } catch (error) {
      throw isTooLarge(error) ? storageFull(error) : error;
    } finally {
      await rm(path, { force: true });
    }
    return resultStream(new FilePieces(file, release), signal);
  }
}

/** Whether a result was larger than its limit. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message.includes('TOO_MANY_ROWS_OR_BYTES');
}

class FilePieces implements ChunkSource {
  readonly #file: FileHandle;
  readonly #release: () => void;
  #closed: Promise<void> | null = null;

  constructor(file: FileHandle, release: () => void) {
    this.#file = file;
    this.#release = release;
  }

  async next(): Promise<Uint8Array | null> {
    const piece = Buffer.allocUnsafe(pieceSize);
    const { bytesRead } = await this.#file.read(piece, 0, pieceSize);
    if (bytesRead > 0) return piece.subarray(0, bytesRead);
    await this.end();
    return null;
  }

  end(): Promise<void> {
    this.#closed ??= this.#file.close().finally(this.#release);
    return this.#closed;
  }
}
