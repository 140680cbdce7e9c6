import { address, callApi, callJson } from '../api.ts';
import { isAbort, Problem, toProblem } from '../problem.ts';
import type { Field } from '../projects/structure.ts';
import type { SendOutcome } from './import-records.ts';
import type { ReadRecord } from './record-form.ts';
import type { AnsweredPage } from './record-pages.ts';
import { headerJson, type PageRequest, type RecordView, viewOptions, whereOf } from './record-view.ts';

const headers = {
  'use-pre-stored-structure': 'true',
  // a page that looks at what somebody has dropped meanwhile does not create it again
  'auto-create-project': 'false',
  'auto-create-record-space': 'false',
};

/** A request may have 64 KiB of headers. */
const longestOptions = 48_000;

/** A large answer takes longer than the first byte of a small one. */
const readMs = 120_000;

/** The record operations of one space, as the pages use them. */
export class RecordsApi {
  readonly #path: string;

  constructor(project: string, space: string) {
    this.#path = address`/${project}/${space}`;
  }

  /** One page of the records on the screen. */
  async page(
    view: RecordView,
    fields: readonly Field[],
    request: PageRequest,
    signal: AbortSignal,
  ): Promise<AnsweredPage> {
    const options = headerJson(viewOptions(view, request));
    // the value that the page before ended with is in there
    if (options.length > longestOptions) {
      throw new Problem(
        'A value of the field by which records are sorted is too long to go on from. Sort by another one.',
      );
    }
    const call = { method: 'POST', json: whereOf(view, fields), signal, timeoutMs: readMs };
    const response = await callApi(`${this.#path}/_find_`, { ...call, headers: { ...headers, options } });
    const text = await response.text();
    return { records: JSON.parse(text) as ReadRecord[], size: text.length };
  }

  /** @param json the body of an aggregation; see docs/api.md */
  aggregate(json: object, signal: AbortSignal): Promise<readonly ReadRecord[]> {
    const call = { method: 'POST', headers, json, signal, timeoutMs: readMs };
    return callJson<ReadRecord[]>(`${this.#path}/_aggregate_`, call);
  }

  /** The records with these ids, in any order. */
  async byIds(ids: readonly string[], signal: AbortSignal): Promise<readonly ReadRecord[]> {
    const call = { method: 'POST', headers, json: [['id', 'in', ids]], signal, timeoutMs: readMs };
    return callJson<ReadRecord[]>(`${this.#path}/_find_`, call);
  }

  /** Null when it is gone. */
  one(id: string, signal: AbortSignal): Promise<ReadRecord | null> {
    return callJson<ReadRecord | null>(`${this.#path}/_single_`, { headers, query: { id }, signal });
  }

  add(record: ReadRecord, signal: AbortSignal): Promise<ReadRecord> {
    return callJson<ReadRecord>(`${this.#path}/_single_`, { method: 'POST', headers, json: record, signal });
  }

  change(id: string, changes: ReadRecord, signal: AbortSignal): Promise<ReadRecord> {
    const call = { method: 'POST', headers, query: { id }, json: changes, signal };
    return callJson<ReadRecord>(`${this.#path}/update-by-id`, call);
  }

  /** Deletes records with one request; those that are gone already are fine. Too large for one, they go in halves. */
  async remove(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const json = { where: { id: { in: ids } } };
    const call = { method: 'POST', headers, json, signal, timeoutMs: readMs };
    try {
      await callApi(`${this.#path}/_delete_`, call);
    } catch (thrown) {
      if (ids.length === 1 || toProblem(thrown).code !== 'invalid_condition') throw thrown;
      const middle = ids.length >> 1;
      await this.remove(ids.slice(0, middle), signal);
      await this.remove(ids.slice(middle), signal);
    }
  }

  /** Deletes all records of the space. */
  async clear(signal: AbortSignal): Promise<void> {
    const call = { method: 'DELETE', headers, signal, timeoutMs: readMs };
    await callApi(`${this.#path}/clear-records`, call);
  }

  /** Stores all records of the body, a JSON array, or none. */
  async insert(body: string, signal: AbortSignal): Promise<SendOutcome> {
    try {
      const sent = { ...headers, 'content-type': 'application/json' };
      const response = await callApi(this.#path, {
        method: 'POST',
        headers: sent,
        body,
        signal,
        timeoutMs: readMs,
      });
      // the stored records come back; nobody needs them, but the connection is used again
      await response.arrayBuffer();
      return { ok: true };
    } catch (thrown) {
      const problem = toProblem(thrown);
      return {
        ok: false,
        status: isAbort(thrown) ? 0 : problem.status,
        problems: problem.details.length > 0 ? problem.details : [problem.message],
        retryAfterSeconds: problem.retryAfter ?? null,
      };
    }
  }
}
