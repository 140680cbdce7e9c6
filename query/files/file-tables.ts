import { LRUCache } from 'lru-cache';
import { EngineProcess, givenFile } from '#engine/engine-process.ts';
import { createStreamSlots, paced } from '#engine/stream-slots.ts';
import type { ReadLimits } from '#kernel/config/settings.ts';
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
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import { parseAsked } from '../input/asked-conditions.ts';
import { parseAggregate } from '../input/parse-aggregate.ts';
import { ByteServer } from './byte-server.ts';
import { type FileSource, type FileTable, readFileTable } from './file-columns.ts';
import { type EngineCost, fileError } from './file-error.ts';
import type { FileFormat } from './file-format.ts';

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

/** Uploaded files as tables. Each statement has an engine of its own (common/engine/engine-process.ts). */
export class FileTables {
  readonly #files: Files;
  readonly #bytes: ByteServer;
  readonly #slots: ReaderSlots;
  readonly #log: Pick<Log, 'warn'>;
  readonly #known = new LRUCache<string, FileTable>({ max: knownFiles });

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
    const { object, request, cost } = question;
    const { signal } = request;
    // where the store has files, an open one is handed on: a gigabyte of CSV takes two thirds of the time
    const file = await this.#files.open(object, signal);
    const served = file === null ? await this.#bytes.serve(object, signal) : null;
    const source: FileSource =
      served === null ? { kind: 'file', at: givenFile } : { kind: 'url', at: served.url };
    let engine: EngineProcess | undefined;
    try {
      engine = await EngineProcess.start({ file: file?.fd, settings, timeout: cost.timeout, signal });
      const table = await this.#tableOf(question, source, engine);
      const answer = isAggregation(question.body) ? groups : found;
      yield* answer(table, question, source, engine);
    } catch (error) {
      throw served?.failure ?? fileError(error, question.format, cost, this.#log);
    } finally {
      served?.end();
      await engine?.close();
      await file?.close();
    }
  }

  async #tableOf(
    { object, format }: FileQuestion,
    source: FileSource,
    engine: EngineProcess,
  ): Promise<FileTable> {
    const { key, size, lastModified } = object;
    const version = `${key} ${size} ${lastModified.getTime()}`;
    const known = this.#known.get(version);
    if (known !== undefined) return known;
    const table = await readFileTable(format, source, (sql) => engine.rows(sql));
    this.#known.set(version, table);
    return table;
  }
}

function rowsSql({ columns, from }: FileTable, source: FileSource, more = ''): string {
  return `(SELECT ${columns}${more} FROM ${from(source)})`;
}

async function* groups(
  table: FileTable,
  { body, request, cut }: FileQuestion,
  source: FileSource,
  engine: EngineProcess,
): AsyncGenerator<Uint8Array> {
  const plan: AggregatePlan = parseAggregate(body, request, table.structure);
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
  { body, request, paged }: FileQuestion,
  source: FileSource,
  engine: EngineProcess,
): AsyncGenerator<Uint8Array> {
  const { options, conditions } = parseFind(body, request, table.structure);
  const { sort, page, select } = options;
  const next = nextPage(options, table.structure);
  if (next !== null) paged?.(next);
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
function parseFind(body: unknown, request: HttpRequest, structure: Structure): ReturnType<typeof parseAsked> {
  const parsed = parseAsked({ body, key: '' }, request, structure);
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
