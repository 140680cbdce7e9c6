import { LRUCache } from 'lru-cache';
import { EngineProcess, givenFile } from '#engine/engine-process.ts';
import { createStreamSlots, paced } from '#engine/stream-slots.ts';
import type { ReadLimits } from '#kernel/config/settings.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidOptions } from '#kernel/errors/catalogue.ts';
import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { Log } from '#kernel/log/log.ts';
import type { StoredObject } from '#objects/object-store.ts';
import { type GroupRow, groupsJson, moreGroups, wantedRows } from '#records/group-rows.ts';
import { type AggregatePlan, aggregateLimits } from '#records/input/aggregate/aggregate-plan.ts';
import { asJsonArray } from '#records/json-array.ts';
import { type NextPage, nextPage } from '#records/next-page.ts';
import { aggregateSql, costSql } from '#records/sql/aggregate-sql.ts';
import { conditionsSql, orderSql } from '#records/sql/conditions-sql.ts';
import { recordExpression } from '#records/sql/value-sql.ts';
import { isObject } from '#records/structure/is-object.ts';
import { wholeRecord } from '#records/structure/record-parts.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import type { FileBytes } from '../imports/formats/file-text.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import type { FileReading } from '../imports/thread/file-records.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { parseRequestConditions } from '../input/request-conditions.ts';
import { assertBytes } from './assert-bytes.ts';
import { ByteServer } from './byte-server.ts';
import { CsvCheck } from './csv-check.ts';
import { type CsvHeader, csvTable, passesBlankLines, readCsvHeader } from './csv-table.ts';
import { type FileSource, type FileTable, unfitColumn } from './file-columns.ts';
import { type EngineCost, fileError } from './file-error.ts';
import type { FileFormat } from './file-format.ts';
import { firstProblem } from './first-problem.ts';
import { ndjsonTable } from './ndjson-table.ts';
import { parquetTable, unfitRow } from './parquet-table.ts';

/** Statements over files at once; an account has half of them. */
const processes = 2;
const waiting = 100;
const mostMemory = 1024 ** 3;
const threads = 2;
/** Files whose columns are known. */
const knownFiles = 200;

const settings = {
  ...{ max_memory_usage: mostMemory, max_threads: threads, max_parsing_threads: threads },
  // the bytes come from this process: what fails once is the store's to try again
  ...{ http_max_tries: 1, http_make_head_request: 1 },
  // a value is read where it is there alone
  short_circuit_function_evaluation: 'enable',
};

type Files = Pick<StoredFiles, 'read' | 'open'>;

/** One question about a file. */
export interface FileQuestion {
  readonly ownerId: string;
  readonly object: StoredObject;
  readonly format: FileFormat;
  /** How its cells are read. */
  readonly reading: FileReading;
  /** Without what the reading says. */
  readonly query: HttpRequest['query'];
  /** The parsed JSON. */
  readonly body: unknown;
  readonly request: HttpRequest;
  /** Milliseconds that the engine may take. */
  readonly cost: EngineCost;
  /** Called before the first bytes of a page of rows. */
  readonly paged?: (next: NextPage) => void;
  /** Called where an aggregation has more groups than its limit. */
  readonly cut?: () => void;
}

/** Whether a body asks for groups: conditions on columns of these names are written as an array. */
export function isAggregation(body: unknown): boolean {
  return isObject(body) && ('groupBy' in body || 'values' in body);
}

/** What is known of a version of a file, read in one way. */
interface KnownFile {
  readonly header: CsvHeader | null;
  table: FileTable | null;
  /** Whether the whole file is CSV as an import reads it. */
  isChecked: boolean;
  hasBlankLines: boolean;
}

/** Uploaded files as tables. Each statement has an engine of its own (common/engine/engine-process.ts). */
export class FileTables {
  readonly #files: Files;
  readonly #bytes: ByteServer;
  readonly #slots: ReaderSlots;
  readonly #log: Pick<Log, 'warn'>;
  readonly #known = new LRUCache<string, KnownFile>({ max: knownFiles });

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
    this.#slots = createStreamSlots({ limit: processes, queueLimit: waiting, limits });
    this.#log = log;
  }

  /** The answer as JSON. Rejects when the statement fails before its first bytes. */
  async ask(question: FileQuestion): Promise<AsyncIterable<Uint8Array>> {
    const { request, ownerId } = question;
    const slot = await this.#slots.take(request.signal, ownerId);
    const answer = this.#answer(question);
    const chunks = paced(slot, answer)[Symbol.asyncIterator]();
    const end = (): void => void answer.return(undefined).finally(slot.release);
    // also where nobody takes the bytes
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

  async *#answer(question: FileQuestion): AsyncGenerator<Uint8Array> {
    const { object, request, cost, body } = question;
    const { signal } = request;
    // where the store has files, an open one is handed on: a gigabyte of CSV takes two thirds of the time
    const file = await this.#files.open(object, signal);
    const served = file === null ? await this.#bytes.serve(object, signal) : null;
    const source: FileSource =
      served === null ? { kind: 'file', at: givenFile } : { kind: 'url', at: served.url };
    const starting = EngineProcess.start({ file: file?.fd, settings, timeout: cost.timeout, signal });
    starting.catch(() => {});
    let check: CsvCheck | null = null;
    let table: FileTable | null = null;
    try {
      const known = await this.#knownFile(question);
      const { header } = known;
      if (header !== null && !known.isChecked)
        check = new CsvCheck(this.#bytesOf(question), header, question.reading.nulls ?? []);
      const engine = await starting;
      table = known.table ??= await tableOf(question, header, source, (sql) => engine.rows(sql));
      const few = isAggregation(body) ? null : fewRows(question, table);
      await check?.covers(few ?? Number.POSITIVE_INFINITY);
      if (check !== null && few === null) {
        known.isChecked = true;
        known.hasBlankLines = check.hasBlankLines;
      }
      const passes = header !== null && (known.hasBlankLines || !known.isChecked);
      const read = passes ? { ...table, settings: `${table.settings}, ${passesBlankLines}` } : table;
      const answer = isAggregation(body) ? groups : found;
      yield* answer(read, question, source, engine);
    } catch (error) {
      throw served?.failure ?? (await this.#reasonOf(error, question, table, source, starting));
    } finally {
      await check?.close();
      served?.end();
      await starting.then((engine) => engine.close()).catch(() => {});
      await file?.close();
    }
  }

  async #knownFile(question: FileQuestion): Promise<KnownFile> {
    const { object, format, reading } = question;
    const { key, size, lastModified } = object;
    const version = `${key} ${size} ${lastModified.getTime()} ${JSON.stringify(reading)}`;
    const known = this.#known.get(version);
    if (known !== undefined) return known;
    await assertBytes(this.#files, question);
    const header = format.name === 'CSV' ? await readCsvHeader(this.#bytesOf(question), reading) : null;
    const made: KnownFile = { header, table: null, isChecked: false, hasBlankLines: false };
    this.#known.set(version, made);
    return made;
  }

  #bytesOf({ object, request }: Pick<FileQuestion, 'object' | 'request'>): FileBytes {
    const chunks = (): AsyncGenerator<Uint8Array> => this.#files.read(object, request.signal);
    return { bytesRead: 0, [Symbol.asyncIterator]: chunks };
  }

  /** What to answer for an error: for what a text has wrong, the words of an import. */
  async #reasonOf(
    error: unknown,
    question: FileQuestion,
    table: FileTable | null,
    source: FileSource,
    starting: Promise<EngineProcess>,
  ): Promise<unknown> {
    const { format, cost, request, reading } = question;
    const answered = fileError(error, format, cost, this.#log);
    const isOfFile = answered instanceof ApiError && answered.code === 'unreadable_file';
    if (!isOfFile || request.signal.aborted || (error instanceof FileProblem && error.line !== null))
      return answered;
    const find = async (): Promise<FileProblem | null> => {
      if (format.name !== 'Parquet')
        return firstProblem(this.#bytesOf(question), reading, table?.structure ?? null);
      const column = table && unfitColumn(table, (error as Error).message);
      if (table === null || column === null) return null;
      const engine = await starting;
      return unfitRow(table, column, source, (sql) => engine.rows(sql));
    };
    const problem = await find().catch(() => null);
    return problem === null ? answered : fileError(problem, format, cost, this.#log);
  }
}

function tableOf(
  { format, reading }: FileQuestion,
  header: CsvHeader | null,
  source: FileSource,
  rows: <Row>(sql: string) => Promise<readonly Row[]>,
): Promise<FileTable> {
  if (header !== null) return csvTable(header, format.isGzip, reading, source, rows);
  return format.name === 'NDJSON'
    ? ndjsonTable(format.isGzip, source, rows)
    : parquetTable(source, reading, rows);
}

/** How many rows from the beginning of a file an answer needs; null: perhaps all. */
function fewRows(question: FileQuestion, { structure }: FileTable): number | null {
  const { options, conditions } = parseFind(question, structure);
  const { sort, page } = options;
  const isFirst = sort === null && conditionsSql(conditions) === null;
  return isFirst && page !== null ? page.offset + page.limit : null;
}

function rowsSql({ selected, from }: FileTable, source: FileSource, more = ''): string {
  return `(SELECT ${selected}${more} FROM ${from(source)})`;
}

async function* groups(
  table: FileTable,
  { body, request, query, cut }: FileQuestion,
  source: FileSource,
  engine: EngineProcess,
): AsyncGenerator<Uint8Array> {
  const plan: AggregatePlan = parseAggregate(
    body,
    { query, header: (name) => request.header(name) },
    table.structure,
  );
  const isFilled = plan.groups.some(({ fill }) => fill);
  const { columns, tail } = aggregateSql(plan, costSql(0), isFilled ? aggregateLimits.rows + 1 : null);
  const where = conditionsSql(plan.where);
  const rows = await engine.rows<GroupRow>(
    `SELECT ${columns} FROM ${rowsSql(table, source)}${where === null ? '' : ` WHERE ${where}`} ${tail}, ${table.settings}`,
  );
  const json = groupsJson(plan, isFilled ? wantedRows(plan, rows) : rows);
  if (moreGroups(json) !== null) cut?.();
  yield json;
}

function found(
  table: FileTable,
  question: FileQuestion,
  source: FileSource,
  engine: EngineProcess,
): AsyncGenerator<Uint8Array> {
  const { options, conditions } = parseFind(question, table.structure);
  const { sort, page, select } = options;
  const next = nextPage(options, table.structure);
  if (next !== null) question.paged?.(next);
  const shown = recordExpression(select ?? wholeRecord(table.structure), ',');
  const where = conditionsSql(conditions);
  // the place of a row breaks ties, as ids of records do
  const rows = rowsSql(table, source, sort === null ? '' : ', rowNumberInAllBlocks() AS _id');
  const parts = [
    `SELECT toValidUTF8(${shown}) AS _record FROM ${rows}`,
    where === null ? '' : `WHERE ${where}`,
    sort === null ? '' : `ORDER BY ${orderSql(sort)}`,
    page === null ? '' : `LIMIT ${page.limit} OFFSET ${page.offset}`,
    // one thread keeps the order of the file
    `SETTINGS max_threads = 1, max_block_size = 8192, ${table.settings}`,
  ];
  return asJsonArray(engine.stream(parts.filter((part) => part !== '').join(' '), 'TSVRaw'));
}

/** Throws a 400 also for what only records have. */
function parseFind(
  { body, request, query }: FileQuestion,
  structure: Structure,
): ReturnType<typeof parseRequestConditions> {
  const parsed = parseRequestConditions({ body, key: '' }, request, structure, query);
  const { page, count } = parsed.options;
  const problems = [
    ...(page?.after === undefined ? [] : ['Options: $after is for records: rows of a file have no id']),
    ...(count ? ['Options: $count is for records: ask for {"values": {"rows": "count"}}'] : []),
  ];
  if (problems.length > 0) throw invalidOptions(problems);
  return parsed;
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
