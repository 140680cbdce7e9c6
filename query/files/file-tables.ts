import { LRUCache } from 'lru-cache';
import { EngineProcess, givenFile } from '#engine/engine-process.ts';
import { createStreamSlots, paced } from '#engine/stream-slots.ts';
import type { ReadLimits } from '#kernel/config/settings.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { Log } from '#kernel/log/log.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import type { FileBytes } from '../imports/formats/file-text.ts';
import type { NullGroup } from '../imports/formats/parquet-nulls.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import type { ThreadLimits } from '../imports/thread/worker-thread.ts';
import { assertBytes, OtherFormat } from './assert-bytes.ts';
import { ByteServer } from './byte-server.ts';
import type { ByteSource } from './byte-source.ts';
import { CsvCheck } from './csv-check.ts';
import { type CsvHeader, csvTable, keepsBlanks, passesBlankLines, readCsvHeader } from './csv-table.ts';
import { fewRows, groupChunks, neededColumns, rowChunks } from './file-answers.ts';
import { type FetchRows, type FileLocation, type FileTable, unfitColumn } from './file-columns.ts';
import { fileError } from './file-error.ts';
import { type FileQuery, isAggregation } from './file-query.ts';
import { firstProblem } from './first-problem.ts';
import { ndjsonTable } from './ndjson-table.ts';
import { firstNullGroup, type NullTask } from './parquet-nulls.ts';
import { parquetTable, unfitRow } from './parquet-table.ts';
import type { CsvCheckTask } from './read-csv-shape.ts';
import { type TableShape, tableShape } from './table-shape.ts';

/** Statements on files that run at once; an account gets half of them. */
const processes = 2;
const queueLimit = 100;
const mostMemory = 1024 ** 3;
const threads = 2;
/** Files whose columns are cached. */
const cachedFiles = 200;

const settings = {
  max_memory_usage: mostMemory,
  max_threads: threads,
  max_parsing_threads: threads,
  // the bytes come from this process, whose store already retries
  http_max_tries: 1,
  http_make_head_request: 1,
  // conversions only run on rows that have a value
  short_circuit_function_evaluation: 'enable',
};

type Files = Pick<StoredFiles, 'read' | 'open'>;

/** Facts about a version of a file, for one `reading`. */
interface CachedFile {
  readonly header: CsvHeader | null;
  table: FileTable | null;
  /** Whether the whole file is known to be CSV that an import accepts. */
  isChecked: boolean;
  hasBlankLines: boolean;
  /** Names of columns in which no list, map or struct is null. */
  readonly withoutNulls: Set<string>;
  /** Whether cells begin or end with blanks. */
  hasBlanks: boolean;
}

/** What a query of a file has so far. */
interface RunningQuery {
  readonly table: FileTable | null;
  readonly location: FileLocation;
  readonly source: ByteSource;
  readonly starting: Promise<EngineProcess>;
}

/** Queries uploaded files as tables. Each statement runs in its own engine process (common/engine/engine-process.ts). */
export class FileTables {
  readonly #files: Files;
  readonly #bytes: ByteServer;
  readonly #slots: ReaderSlots;
  readonly #log: Pick<Log, 'warn'>;
  readonly #cache = new LRUCache<string, CachedFile>({ max: cachedFiles });

  constructor({
    files,
    limits,
    log,
  }: {
    readonly files: Files;
    readonly limits: Pick<ReadLimits, 'minRate' | 'minRatePeriod'>;
    readonly log: Pick<Log, 'warn'>;
  }) {
    this.#files = files;
    this.#bytes = new ByteServer(files);
    this.#slots = createStreamSlots({ limit: processes, queueLimit, limits });
    this.#log = log;
  }

  /** The answer as JSON. Rejects when the statement fails before its first bytes. */
  async query(fileQuery: FileQuery): Promise<AsyncIterable<Uint8Array>> {
    const { request, ownerId } = fileQuery;
    const slot = await this.#slots.take(request.signal, ownerId);
    const answer = this.#answer(fileQuery);
    const chunks = paced(slot, answer)[Symbol.asyncIterator]();
    const end = (): void => void answer.return(undefined).finally(slot.release);
    // also if the client never reads the bytes
    request.onOver(end);
    try {
      const first = await chunks.next();
      return rest(first, chunks, end);
    } catch (error) {
      end();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#slots.close(new Error('the database is closed'));
    await this.#bytes.close();
  }

  async *#answer(fileQuery: FileQuery): AsyncGenerator<Uint8Array> {
    const { object, request, cost, body } = fileQuery;
    const { signal } = request;
    // a store with local files passes an open file to the engine: a gigabyte of CSV takes a third less time
    const file = await this.#files.open(object, signal);
    const served = file === null ? await this.#bytes.serve(object, signal) : null;
    const location: FileLocation =
      served === null ? { kind: 'file', address: givenFile } : { kind: 'url', address: served.url };
    const source: ByteSource = file === null ? { url: location.address } : { fd: file.fd };
    const starting = EngineProcess.start({ file: file?.fd, settings, timeout: cost.timeout, signal });
    starting.catch(() => {});
    let check: CsvCheck | null = null;
    let table: FileTable | null = null;
    try {
      const cached = await this.#cachedFile(fileQuery);
      const { header } = cached;
      if (header !== null && !cached.isChecked)
        check = new CsvCheck(
          checkTask(source, header, fileQuery),
          textSize(fileQuery),
          threadLimits(fileQuery),
        );
      // while the engine starts
      const shape = cached.table === null ? await shapeOf(source, fileQuery) : null;
      const engine = await starting;
      const fetchRows: FetchRows = (sql) => engine.rows(sql);
      if (shape !== null) cached.table = await tableOf(fileQuery, { header, shape }, location, fetchRows);
      table = cached.table as FileTable;
      const few = isAggregation(body) ? null : fewRows(fileQuery, table);
      await check?.covers(few ?? Number.POSITIVE_INFINITY);
      if (check !== null && few === null) {
        cached.isChecked = true;
        cached.hasBlankLines = check.hasBlankLines;
        cached.hasBlanks = check.hasBlanks;
      }
      await assertNoNulls(fileQuery, table, { source, rows: few ?? Number.POSITIVE_INFINITY }, cached);
      const passes = header !== null && (cached.hasBlankLines || !cached.isChecked);
      // of the rows that the answer needs
      const keeps = check?.hasBlanks ?? cached.hasBlanks;
      const more = `${passes ? `, ${passesBlankLines}` : ''}${keeps ? `, ${keepsBlanks}` : ''}`;
      const readTable = { ...table, settings: table.settings + more };
      const answer = isAggregation(body) ? groupChunks : rowChunks;
      yield* answer(readTable, fileQuery, location, engine);
    } catch (error) {
      throw (
        served?.failure ?? (await this.#clientError(error, fileQuery, { table, location, source, starting }))
      );
    } finally {
      await check?.close();
      served?.end();
      await starting.then((engine) => engine.close()).catch(() => {});
      await file?.close();
    }
  }

  async #cachedFile(fileQuery: FileQuery): Promise<CachedFile> {
    const { object, format, reading } = fileQuery;
    const { key, size, lastModified } = object;
    const version = `${key} ${size} ${lastModified.getTime()} ${JSON.stringify(reading)}`;
    const cached = this.#cache.get(version);
    if (cached !== undefined) return cached;
    await assertBytes(this.#files, fileQuery);
    const header = format.name === 'CSV' ? await readCsvHeader(this.#bytesOf(fileQuery), reading) : null;
    const file: CachedFile = {
      header,
      table: null,
      isChecked: false,
      hasBlankLines: false,
      withoutNulls: new Set(),
      hasBlanks: false,
    };
    this.#cache.set(version, file);
    return file;
  }

  #bytesOf({ object, request }: Pick<FileQuery, 'object' | 'request'>): FileBytes {
    const chunks = (): AsyncGenerator<Uint8Array> => this.#files.read(object, request.signal);
    return { bytesRead: 0, [Symbol.asyncIterator]: chunks };
  }

  /** The error for the client. If the file is bad, it has the line and the reason that an import would report. */
  async #clientError(
    error: unknown,
    fileQuery: FileQuery,
    { table, location, source, starting }: RunningQuery,
  ): Promise<unknown> {
    const { format, cost, request, reading } = fileQuery;
    const general = fileError(error, format, cost, this.#log);
    const isBadFile = general instanceof ApiError && general.code === 'unreadable_file';
    const isKnown = error instanceof OtherFormat || (error instanceof FileProblem && error.line !== null);
    if (!isBadFile || request.signal.aborted || isKnown) return general;
    const find = async (): Promise<FileProblem | null> => {
      if (format.name !== 'Parquet')
        return firstProblem(
          { source, reading, structure: table?.structure ?? null },
          threadLimits(fileQuery),
        );
      const column = table && unfitColumn(table, (error as Error).message);
      if (table === null || column === null) return null;
      const engine = await starting;
      return unfitRow(table, column, location, (sql) => engine.rows(sql));
    };
    const problem = await find().catch(() => null);
    return problem === null ? general : fileError(problem, format, cost, this.#log);
  }
}

/** Throws a FileProblem if the answer needs a column of Parquet in which a list, map or struct is null. */
async function assertNoNulls(
  fileQuery: FileQuery,
  table: FileTable,
  { source, rows }: Pick<NullTask, 'source' | 'rows'>,
  { withoutNulls }: CachedFile,
): Promise<void> {
  if (table.columns.every(({ nullable }) => nullable === undefined || withoutNulls.has(nullable))) return;
  const names = neededColumns(fileQuery, table).flatMap(({ nullable }) => nullable ?? []);
  const columns = new Set(names.filter((name) => !withoutNulls.has(name)));
  if (columns.size === 0) return;
  const task = { source, size: fileQuery.object.size, columns, rows };
  const found = await firstNullGroup(task, threadLimits(fileQuery));
  if (found !== null) throw new FileProblem(found.row + 1, nullProblem(found));
  if (rows === Number.POSITIVE_INFINITY) for (const name of columns) withoutNulls.add(name);
}

function nullProblem({ column, isInside }: NullGroup): string {
  const what = isInside ? 'has a null list, map or struct in it' : 'is null';
  return `${shownName(column)} ${what}, which only imports tell from an empty one`;
}

function checkTask(
  source: ByteSource,
  { names, delimiter, prefixBytes }: CsvHeader,
  { reading: { nulls = [] } }: FileQuery,
): CsvCheckTask {
  return { source, prefixBytes, delimiter, columns: names.length, nulls };
}

function textSize({ object, format }: FileQuery): number {
  return format.isGzip ? Number.POSITIVE_INFINITY : object.size;
}

/** The limits of a thread are those of the engine. */
function threadLimits({ request, cost }: FileQuery): ThreadLimits {
  return { signal: request.signal, timeout: cost.timeout, late: () => new Error('TIMEOUT_EXCEEDED') };
}

/** The columns and their types. */
function shapeOf(source: ByteSource, fileQuery: FileQuery): Promise<TableShape> {
  const { object, reading } = fileQuery;
  return tableShape({ source, size: object.size, reading }, threadLimits(fileQuery));
}

async function tableOf(
  { format, reading }: FileQuery,
  { header, shape }: { readonly header: CsvHeader | null; readonly shape: TableShape },
  location: FileLocation,
  fetchRows: FetchRows,
): Promise<FileTable> {
  if (header !== null) return csvTable(header, shape, format.isGzip, reading);
  return format.name === 'NDJSON'
    ? ndjsonTable(shape, format.isGzip, reading)
    : parquetTable(shape, location, reading, fetchRows);
}

async function* rest(
  first: IteratorResult<Uint8Array, unknown>,
  chunks: AsyncIterator<Uint8Array>,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await chunks.next()) yield next.value;
  } finally {
    end();
  }
}
