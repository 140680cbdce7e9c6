import { address } from '../address.ts';
import { type ApiCall, callApi } from '../api.ts';
import { noAnswer, Problem, toProblem } from '../problem.ts';
import type { Field } from '../projects/structure.ts';
import { jsonOf } from '../session.ts';
import type { Where } from './filters.ts';
import type { StoredRecord } from './record-form.ts';
import type { PageResponse } from './record-pages.ts';
import { headerJson, type PageRequest, type RecordView, viewOptions, whereOf } from './record-view.ts';

const headers = {
  'use-pre-stored-structure': 'true',
  // the page of a dropped space must not create it again
  'auto-create-project': 'false',
  'auto-create-record-space': 'false',
};

/** A request may have 64 KiB of headers. */
const longestOptions = 48_000;

/** Large responses take longer. */
const timeoutMs = 120_000;
/** A live query is endless; this is the longest possible timer. */
const liveMs = 2 ** 31 - 1;

export type ExportFormat = 'json' | 'ndjson' | 'csv' | 'parquet' | 'arrow';

export interface ExportRequest {
  readonly format: ExportFormat;
  readonly view: RecordView;
  readonly fields: readonly Field[];
  readonly ids: readonly string[] | null;
  /** Options of CSV. */
  readonly query: Readonly<Record<string, boolean>>;
}

/** The record operations of one space. */
export class RecordsApi {
  readonly project: string;
  readonly #path: string;

  constructor(project: string, space: string) {
    this.project = project;
    this.#path = address`/${project}/${space}`;
  }

  #post(path: string, call: ApiCall): Promise<Response> {
    const all = { ...headers, ...call.headers };
    return callApi(this.#path + path, { method: 'POST', timeoutMs, ...call, headers: all });
  }

  /** One page of the records on the screen. */
  async page(
    view: RecordView,
    fields: readonly Field[],
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<PageResponse> {
    const options = headerJson(viewOptions(view, request));
    // they contain the last value of the previous page
    if (options.length > longestOptions) {
      throw new Problem(
        'A value of the sorted field is too long to load the next page. Sort by another field.',
      );
    }
    const call = { headers: { options }, json: whereOf(view, fields), signal };
    const text = await (await this.#post('/_find_', call)).text();
    return { records: JSON.parse(text) as StoredRecord[], size: text.length };
  }

  /**
   * The events of a live query. The table loads its rows itself, so `updatedAt`, which changes with every write, is
   * enough. @param place id of the last event
   */
  async live(
    json: Where,
    place: string,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const since = place === '' ? {} : { 'last-event-id': place };
    const options = headerJson({ select: ['id', 'updatedAt'] });
    const call = { headers: { accept: 'text/event-stream', options, ...since }, json, signal };
    const { body } = await this.#post('/_find_', { ...call, timeoutMs: liveMs });
    if (body === null) throw noAnswer();
    return body;
  }

  /** @param json the body of an aggregation; see docs/api.md */
  async aggregate(json: object, signal: AbortSignal): Promise<readonly StoredRecord[]> {
    return jsonOf(await this.#post('/_aggregate_', { json, signal }));
  }

  /** Selected records, or all of a view, as a file. `ids` null: all. */
  export({ format, view, fields, ids, query }: ExportRequest, signal: AbortSignal): Promise<Response> {
    const options = headerJson(viewOptions(view, {}));
    const json = ids === null ? whereOf(view, fields) : [['id', 'in', ids]];
    const flags = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return this.#post(`/_export_.${format}`, {
      method: 'QUERY',
      headers: { options },
      query: flags,
      json,
      signal,
    });
  }

  /** Null: deleted. */
  async one(id: string, signal: AbortSignal): Promise<StoredRecord | null> {
    return jsonOf(await this.#post('/_single_', { method: 'GET', query: { id }, signal }));
  }

  async add(record: StoredRecord, signal: AbortSignal): Promise<void> {
    await this.#post('/_single_', { json: record, signal });
  }

  async change(id: string, changes: StoredRecord, signal: AbortSignal): Promise<StoredRecord> {
    return jsonOf(await this.#post('/update-by-id', { query: { id }, json: changes, signal }));
  }

  /** Deletes records with one request, ignoring missing ones. Splits a request that is too large. */
  async remove(ids: readonly string[], signal: AbortSignal): Promise<void> {
    try {
      await this.#post('/_delete_', { json: { where: { id: { in: ids } } }, signal });
    } catch (thrown) {
      if (ids.length === 1 || toProblem(thrown).code !== 'invalid_condition') throw thrown;
      const middle = ids.length >> 1;
      await this.remove(ids.slice(0, middle), signal);
      await this.remove(ids.slice(middle), signal);
    }
  }

  /** Deletes all records of the space. */
  async clear(signal: AbortSignal): Promise<void> {
    await this.#post('/clear-records', { method: 'DELETE', signal });
  }
}
