import { join } from 'node:path';
import type { Database } from '#engine/database.ts';
import { IdFilter } from '#engine/id-filter.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { FlushedLog, type FlushTimes } from '#kernel/durable-files/flushed-log.ts';
import type { LogEntry } from '#kernel/durable-files/write-ahead-log.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { CatalogueEntry, FoundSpace } from './catalogue-entry.ts';
import { catalogueLine } from './catalogue-row.ts';
import { TableCatalogue } from './table-catalogue.ts';

interface CatalogueLogEntry extends LogEntry {
  /** Absent: an earlier process wrote it. */
  readonly entry?: CatalogueEntry;
}

/** Most bytes of lines that the table lacks. */
const pendingLimit = 16 * 1024 * 1024;

/**
 * The catalogue of a process that is the only one on its store. A version of a space is durable in a write-ahead log, and
 * known here, before the table has it. So a new space costs one small write instead of an INSERT.
 */
export class LoggedCatalogue extends TableCatalogue {
  /** The newest versions that the table may lack. */
  readonly #pending = new Map<string, CatalogueEntry>();
  /** Bytes of these versions' lines, including lines that the log does not have yet. */
  #bytes = 0;
  readonly #flushed: FlushedLog<CatalogueLogEntry>;
  readonly #filter: IdFilter;

  private constructor(parts: {
    readonly db: Database;
    readonly database: string;
    readonly flushed: FlushedLog<CatalogueLogEntry>;
    readonly filter: IdFilter;
  }) {
    super(parts);
    this.#flushed = parts.flushed;
    this.#filter = parts.filter;
  }

  /** @param args.directory of the log */
  static async open(args: {
    readonly db: Database;
    readonly database: string;
    readonly directory: string;
    readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
    readonly times?: Partial<FlushTimes>;
  }): Promise<LoggedCatalogue> {
    const { db, database, directory, log, times } = args;
    const rows = `${database}.record_spaces`;
    const flushed = await FlushedLog.open<CatalogueLogEntry>({
      what: 'record spaces',
      directory,
      log,
      times,
      entryOf: (line) => ({ line }),
      // a version that is inserted twice counts once
      store: (lines) => db.insert({ table: rows, lines: Buffer.concat(lines.map(({ line }) => line)) }),
      // called only once `catalogue` is set: nothing is written before it is open
      stored: (lines) => catalogue.#stored(lines),
    });
    // the table has the versions that an earlier process left by now
    const filter = new IdFilter({ db, table: rows, id: 'toString(id)', what: 'record spaces', log });
    const catalogue = new LoggedCatalogue({ db, database, flushed, filter });
    return catalogue;
  }

  override async settled(signal: AbortSignal): Promise<void> {
    const { last } = this.#flushed;
    if (!this.#flushed.has(last)) await untilAborted(this.#flushed.flush(last), signal);
  }

  override async findVersioned(id: string, signal: AbortSignal): Promise<FoundSpace> {
    if (!this.#filter.mayHave(id)) return { entry: null, version: 0 };
    const entry = this.#pending.get(id);
    return entry === undefined ? super.findVersioned(id, signal) : { entry, version: entry.version };
  }

  override async store(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    while (this.#bytes > pendingLimit) await this.settled(signal);
    await this.ensureColumns(entry, signal);
    const line = catalogueLine(entry);
    this.#bytes += line.byteLength;
    this.#filter.add(entry.id);
    try {
      await this.#flushed.append({ line, entry });
    } catch (error) {
      this.#bytes -= line.byteLength;
      throw error;
    }
    this.#pending.set(entry.id, entry);
    this.#flushed.number();
    this.#flushed.schedule();
    return true;
  }

  override async isEmpty(signal: AbortSignal): Promise<boolean> {
    return this.#pending.size === 0 && (await super.isEmpty(signal));
  }

  override close(): Promise<void> {
    return this.#flushed.close();
  }

  #stored(lines: readonly CatalogueLogEntry[]): void {
    for (const { line, entry } of lines) {
      this.#bytes -= line.byteLength;
      if (entry !== undefined && this.#pending.get(entry.id) === entry) this.#pending.delete(entry.id);
    }
  }
}

/** Opens the catalogue of this process, with a log if the engine is embedded, and so serves only this process. */
export function openCatalogue(services: {
  readonly db: Database;
  readonly database: string;
  readonly config: Pick<Config, 'clickhouse' | 'dataDir'>;
  readonly log: Log;
}): Promise<TableCatalogue> | TableCatalogue {
  const { clickhouse, dataDir } = services.config;
  return clickhouse === undefined
    ? LoggedCatalogue.open({ ...services, directory: join(dataDir, 'catalogue-log') })
    : new TableCatalogue(services);
}
