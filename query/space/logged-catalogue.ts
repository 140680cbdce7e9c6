import { join } from 'node:path';
import { untilAborted } from '../../common/abort/until-aborted.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { IdFilter } from '../../common/clickhouse/id-filter.ts';
import type { Config } from '../../common/config/read-config.ts';
import type { Log } from '../../common/log/log.ts';
import { FlushedLog, type FlushTimes } from '../../common/write-ahead-log/flushed-log.ts';
import type { LogEntry } from '../../common/write-ahead-log/write-ahead-log.ts';
import type {
  CatalogueEntry,
  DroppedSpace,
  FoundSpace,
  SpaceCatalogue,
  SpaceIds,
  SpaceQuery,
} from './space-catalogue.ts';
import { catalogueLine, TableCatalogue } from './table-catalogue.ts';

interface Line extends LogEntry {
  /** Absent: an earlier process wrote it. */
  readonly entry?: CatalogueEntry;
}

/** Bytes of lines that may wait for the table. */
const pendingLimit = 16 * 1024 * 1024;

/** The newest versions that the table may lack. */
class PendingVersions {
  readonly #entries = new Map<string, CatalogueEntry>();
  /** Of their lines, and of those that the log does not have yet. */
  bytes = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): CatalogueEntry | undefined {
    return this.#entries.get(id);
  }

  add(entry: CatalogueEntry): void {
    this.#entries.set(entry.id, entry);
  }

  /** The table has them. */
  stored(lines: readonly Line[]): void {
    for (const { line, entry } of lines) {
      this.bytes -= line.byteLength;
      if (entry !== undefined && this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
    }
  }
}

/**
 * The catalogue of a process that has its store to itself: a version of a space is durable in a write-ahead log, and
 * known here, before the table has it. So a new space costs one small write, and not an INSERT of its own.
 */
export class LoggedCatalogue implements SpaceCatalogue {
  readonly #table: TableCatalogue;
  readonly #pending: PendingVersions;
  readonly #flushed: FlushedLog<Line>;
  readonly #filter: IdFilter;

  constructor(parts: {
    readonly table: TableCatalogue;
    readonly pending: PendingVersions;
    readonly flushed: FlushedLog<Line>;
    readonly filter: IdFilter;
  }) {
    this.#table = parts.table;
    this.#pending = parts.pending;
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
    const pending = new PendingVersions();
    const flushed = await FlushedLog.open<Line>({
      ...{ what: 'record spaces', directory, log, times, entryOf: (line) => ({ line }) },
      // a version that is there twice counts once
      store: (lines) => db.insert({ table: rows, lines: Buffer.concat(lines.map(({ line }) => line)) }),
      stored: (lines) => pending.stored(lines),
    });
    // after what an earlier process left has come into the table
    const filter = new IdFilter({ db, table: rows, id: 'toString(id)', what: 'record spaces', log });
    return new LoggedCatalogue({ table: new TableCatalogue(args), pending, flushed, filter });
  }

  async settled(signal: AbortSignal): Promise<void> {
    const { last } = this.#flushed;
    if (!this.#flushed.has(last)) await untilAborted(this.#flushed.flush(last), signal);
  }

  async look(id: string, signal: AbortSignal): Promise<FoundSpace> {
    if (!this.#filter.mayHave(id)) return { entry: null, version: 0 };
    const entry = this.#pending.get(id);
    return entry === undefined ? this.#table.look(id, signal) : { entry, version: entry.version };
  }

  async find(id: string, signal: AbortSignal): Promise<CatalogueEntry | null> {
    return (await this.look(id, signal)).entry;
  }

  async store(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    const pending = this.#pending;
    while (pending.bytes > pendingLimit) await this.settled(signal);
    const line = catalogueLine(entry);
    pending.bytes += line.byteLength;
    this.#filter.add(entry.id);
    try {
      await this.#flushed.append({ line, entry });
    } catch (error) {
      pending.bytes -= line.byteLength;
      throw error;
    }
    pending.add(entry);
    this.#flushed.number();
    this.#flushed.schedule();
    return true;
  }

  async drop(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean> {
    await this.settled(signal);
    return this.#table.drop(entry, signal);
  }

  // a space that was dropped went into the table
  leftBehind(before: Date, limit: number, signal: AbortSignal): Promise<readonly DroppedSpace[]> {
    return this.#table.leftBehind(before, limit, signal);
  }

  retiredSlots(signal: AbortSignal): ReturnType<SpaceCatalogue['retiredSlots']> {
    return this.#table.retiredSlots(signal);
  }

  swept(dropped: DroppedSpace, signal: AbortSignal): Promise<void> {
    return this.#table.swept(dropped, signal);
  }

  async idsOfProject(projectId: string, signal: AbortSignal): Promise<readonly SpaceIds[]> {
    await this.settled(signal);
    return this.#table.idsOfProject(projectId, signal);
  }

  async idsOfOwner(ownerId: string, signal: AbortSignal): Promise<readonly SpaceIds[]> {
    await this.settled(signal);
    return this.#table.idsOfOwner(ownerId, signal);
  }

  async list(query: SpaceQuery, signal: AbortSignal): Promise<readonly CatalogueEntry[]> {
    await this.settled(signal);
    return this.#table.list(query, signal);
  }

  async countByProject(
    ownerId: string,
    projectIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    await this.settled(signal);
    return this.#table.countByProject(ownerId, projectIds, signal);
  }

  async countOfOwner(ownerId: string, signal: AbortSignal): Promise<number> {
    await this.settled(signal);
    return this.#table.countOfOwner(ownerId, signal);
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return this.#pending.size === 0 && (await this.#table.isEmpty(signal));
  }

  close(): Promise<void> {
    return this.#flushed.close();
  }
}

/** The catalogue of this process: with a log before it where the engine is embedded, and so serves one process. */
export function openCatalogue(services: {
  readonly db: Database;
  readonly database: string;
  readonly config: Pick<Config, 'clickhouse' | 'dataDir'>;
  readonly log: Log;
}): Promise<SpaceCatalogue> | SpaceCatalogue {
  const { clickhouse, dataDir } = services.config;
  return clickhouse === undefined
    ? LoggedCatalogue.open({ ...services, directory: join(dataDir, 'catalogue-log') })
    : new TableCatalogue(services);
}
