import { join } from 'node:path';
import { untilAborted } from '../../common/abort/until-aborted.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import type { Config } from '../../common/config/read-config.ts';
import type { Log } from '../../common/log/log.ts';
import { FlushedLog, type FlushTimes } from '../../common/write-ahead-log/flushed-log.ts';
import type { LogEntry } from '../../common/write-ahead-log/write-ahead-log.ts';
import {
  type CatalogueEntry,
  catalogueLine,
  createSpaceCatalogue,
  type SpaceCatalogue,
} from './space-catalogue.ts';
import { openSpaceFilter } from './space-filter.ts';

interface Line extends LogEntry {
  /** Absent: an earlier process wrote it. */
  readonly entry?: CatalogueEntry;
}

/** Bytes of lines that may wait for the table. */
const pendingLimit = 16 * 1024 * 1024;

/**
 * The catalogue of a process that has its store to itself: a version of a space is durable in a write-ahead log, and
 * known here, before the table has it. So a new space costs one small write, and not an INSERT of its own.
 * @param args.directory of the log
 */
export async function openLoggedCatalogue(args: {
  readonly db: Database;
  readonly database: string;
  readonly directory: string;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly times?: Partial<FlushTimes>;
}): Promise<SpaceCatalogue> {
  const { db, database, directory, log, times } = args;
  const catalogue = createSpaceCatalogue(args);
  /** The newest versions that the table may lack. */
  const pending = new Map<string, CatalogueEntry>();
  let bytes = 0;
  const flushed = await FlushedLog.open<Line>({
    ...{ what: 'record spaces', directory, log, times, entryOf: (line) => ({ line }) },
    // a version that is there twice counts once
    store: (lines) =>
      db.insert({ table: `${database}.record_spaces`, lines: Buffer.concat(lines.map(({ line }) => line)) }),
    stored(lines) {
      for (const { line, entry } of lines) {
        bytes -= line.byteLength;
        if (entry !== undefined && pending.get(entry.id) === entry) pending.delete(entry.id);
      }
    },
  });
  // after what an earlier process left has come into the table
  const filter = openSpaceFilter({ db, table: `${database}.record_spaces`, log });
  const settled = async (signal: AbortSignal): Promise<void> => {
    if (!flushed.has(flushed.last)) await untilAborted(flushed.flush(flushed.last), signal);
  };
  const look: SpaceCatalogue['look'] = async (id, signal) => {
    if (!filter.mayHave(id)) return { entry: null, version: 0 };
    const entry = pending.get(id);
    return entry === undefined ? catalogue.look(id, signal) : { entry, version: entry.version };
  };
  return {
    settled,
    look,
    find: async (id, signal) => (await look(id, signal)).entry,
    async store(entry, signal) {
      while (bytes > pendingLimit) await settled(signal);
      const line = catalogueLine(entry);
      bytes += line.byteLength;
      filter.add(entry.id);
      try {
        await flushed.append({ line, entry });
      } catch (error) {
        bytes -= line.byteLength;
        throw error;
      }
      pending.set(entry.id, entry);
      flushed.number();
      flushed.schedule();
      return true;
    },
    async drop(entry, signal) {
      await settled(signal);
      return catalogue.drop(entry, signal);
    },
    // a space that was dropped went into the table
    leftBehind: (before, limit, signal) => catalogue.leftBehind(before, limit, signal),
    retiredSlots: (signal) => catalogue.retiredSlots(signal),
    swept: (dropped, signal) => catalogue.swept(dropped, signal),
    async idsOfProject(projectId, signal) {
      await settled(signal);
      return catalogue.idsOfProject(projectId, signal);
    },
    async idsOfOwner(ownerId, signal) {
      await settled(signal);
      return catalogue.idsOfOwner(ownerId, signal);
    },
    async list(query, signal) {
      await settled(signal);
      return catalogue.list(query, signal);
    },
    async countByProject(ownerId, projectIds, signal) {
      await settled(signal);
      return catalogue.countByProject(ownerId, projectIds, signal);
    },
    async countOfOwner(ownerId, signal) {
      await settled(signal);
      return catalogue.countOfOwner(ownerId, signal);
    },
    isEmpty: async (signal) => pending.size === 0 && (await catalogue.isEmpty(signal)),
    close: () => flushed.close(),
  };
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
    ? openLoggedCatalogue({ ...services, directory: join(dataDir, 'catalogue-log') })
    : createSpaceCatalogue(services);
}
