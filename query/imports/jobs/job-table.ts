import { deleteRows } from '#catalogue/delete-rows.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { type ImportJob, isOver } from './import-job.ts';

const columns = ['owner_id', 'id', 'version', 'state', 'updated_at', 'content'];

/** The owner of rows that request the end of a job: no account has this id. */
const stopRequests = 'stops';

/** The table of jobs. Each version of a job is a row, and the newest one is valid. */
export class JobTable {
  readonly #db: Database;
  readonly #table: string;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#table = `${database}.jobs`;
  }

  async store(job: ImportJob): Promise<void> {
    const { ownerId, id, version, state, updatedAt } = job;
    const row = [ownerId, id, version, state, timestampText(new Date(updatedAt)), JSON.stringify(job)];
    await this.#db.insert({ table: this.#table, columns, lines: Buffer.from(`${JSON.stringify(row)}\n`) });
  }

  async find(ownerId: string, id: string, signal: AbortSignal): Promise<ImportJob | null> {
    const [job] = await this.#select(`${of(ownerId)} AND id = ${textLiteral(id)}`, signal);
    return job ?? null;
  }

  /** The job of the last day with this `Idempotency-Key`. @param key its hash */
  async findByKey(ownerId: string, key: string, signal: AbortSignal): Promise<ImportJob | null> {
    const recent = 'updated_at > now() - INTERVAL 1 DAY';
    const where = `${of(ownerId)} AND ${recent} AND JSONExtractString(content, 'key') = ${textLiteral(key)}`;
    return (await this.#select(where, signal))[0] ?? null;
  }

  /** The newest jobs of an account. @param before the last id of the previous page */
  list(
    ownerId: string,
    limit: number,
    before: string | null,
    signal: AbortSignal,
  ): Promise<readonly ImportJob[]> {
    const older = before === null ? '' : ` AND id < ${textLiteral(before)}`;
    return this.#select(`${of(ownerId)}${older} ORDER BY id DESC LIMIT ${limit}`, signal);
  }

  /** The jobs with these ids, of all accounts. */
  async among(ids: readonly string[], signal: AbortSignal): Promise<readonly ImportJob[]> {
    if (ids.length === 0) return [];
    const which = `id IN (${ids.map(textLiteral).join(', ')}) AND owner_id != ${textLiteral(stopRequests)}`;
    return this.#select(which, signal);
  }

  /** Requests that the process that works on a job stops. */
  async requestStop(id: string): Promise<void> {
    const row = [stopRequests, id, 1, 'cancelled', timestampText(new Date()), '{}'];
    await this.#db.insert({ table: this.#table, columns, lines: Buffer.from(`${JSON.stringify(row)}\n`) });
  }

  async isStopRequested(id: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#select(`${of(stopRequests)} AND id = ${textLiteral(id)}`, signal)).length > 0;
  }

  /** Jobs that have not ended, of all accounts. */
  async unfinished(signal: AbortSignal): Promise<readonly ImportJob[]> {
    const jobs = await this.#select(`state IN ('waiting', 'running', 'publishing') ORDER BY id`, signal);
    return jobs.filter((job) => !isOver(job));
  }

  /** Jobs of an account that have not ended. */
  async unfinishedOf(ownerId: string, signal: AbortSignal): Promise<readonly ImportJob[]> {
    const jobs = await this.#select(
      `${of(ownerId)} AND state IN ('waiting', 'running', 'publishing')`,
      signal,
    );
    return jobs.filter((job) => !isOver(job));
  }

  /** Removes the jobs of a deleted account, and what was requested of them. */
  async removeOwner(ownerId: string, signal: AbortSignal): Promise<void> {
    const found = `SELECT id AS value FROM ${this.#table} WHERE ${of(ownerId)}`;
    const more = ` AND ${of(stopRequests)}`;
    await deleteRows(this.#db, { table: this.#table, column: 'id', found, more }, signal);
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE ${of(ownerId)}`, signal });
  }

  async #select(where: string, signal: AbortSignal): Promise<readonly ImportJob[]> {
    const sql = `SELECT content FROM ${this.#table} FINAL WHERE ${where}`;
    const rows = await this.#db.rows<{ content: string }>({ sql, signal });
    return rows.map(({ content }) => JSON.parse(content) as ImportJob);
  }
}

function of(ownerId: string): string {
  return `owner_id = ${textLiteral(ownerId)}`;
}
