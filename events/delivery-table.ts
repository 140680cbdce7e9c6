import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import {
  type Pace,
  type QueuedItem,
  type StatementItem,
  StatementQueues,
  settleAll,
} from '#engine/statement-queues.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import type { Delivery, NewDelivery, Progress } from './delivery.ts';

const keyColumns = ['owner_id', 'id', 'created_at'];
const changeColumns = ['space_id', 'event', 'project', 'space', 'url', 'record_ids', 'bytes'];
export const progressColumns = [
  'process',
  'state',
  'attempts',
  'status',
  'problem',
  'updated_at',
  'next_at',
  'expires_at',
];
const columns = [...keyColumns, ...changeColumns, ...progressColumns, 'content'];
/** Notes leave these columns empty, so that notes and new deliveries can share an INSERT. */
const noChange = ['', '', '', '', '', [], 0];
/** Columns of a Delivery, without the content. */
const selection = `owner_id AS ownerId, id, space_id AS spaceId, event, project, space, url, record_ids AS recordIds,
  toFloat64(bytes) AS bytes, process, state, attempts, status, problem,
  arrayMap(time -> toFloat64(toUnixTimestamp64Milli(time)), [created_at, updated_at, next_at, expires_at]) AS times`;
/** Replaces a dropped content. It is greater than any content, which begins with `{`. */
const dropped = '~';
/** Most bytes of rows that are queued, of one INSERT, and of contents that are read at once. */
const pendingLimit = 128 * 1024 ** 2;
const insertLimit = 16 * 1024 ** 2;
const readLimit = 8 * 1024 ** 2;
/** Contents that one statement reads: its text holds their ids. */
const contentsAtOnce = 200;
/** Milliseconds for which notes of failed calls are gathered: only the next calls of their accounts wait for them. */
const failuresGather = 200;
const failures = 'failures';
/** A running statement is not aborted: its outcome must be known. */
const { signal: never } = new AbortController();

type Key = Pick<Delivery, 'ownerId' | 'id' | 'createdAt'>;

/** All deliveries of an account, or only those of some record spaces. */
export interface DeliveryScope {
  readonly ownerId: string;
  readonly spaces?: readonly string[] | undefined;
}

interface QueuedLines extends StatementItem {
  readonly lines: Buffer;
}

interface ContentRead extends StatementItem {
  readonly id: string;
}

/**
 * The table of deliveries. Merges join the rows of a delivery: one with all columns, and a small one per attempt. Rows and
 * reads of several callers share statements, with fair shares for their accounts.
 */
export class DeliveryTable {
  readonly #db: Database;
  readonly #table: string;
  readonly #processes: string;
  readonly #inserts: StatementQueues<QueuedLines, void>;
  readonly #reads: StatementQueues<ContentRead, string | null>;

  constructor({
    db,
    database,
    pace,
  }: {
    readonly db: Database;
    readonly database: string;
    readonly pace?: Pace | undefined;
  }) {
    this.#db = db;
    this.#table = `${database}.webhook_calls`;
    this.#processes = `${database}.webhook_processes`;
    this.#inserts = new StatementQueues({
      ...{ pendingLimit, sizeLimit: insertLimit },
      pace: async (turn) => Math.max(turn.queue === failures ? failuresGather : 0, (await pace?.(turn)) ?? 0),
      full: 'too many webhook deliveries are waiting to be stored',
      run: (items) => settleAll(items, () => this.#insert(items)),
    });
    this.#reads = new StatementQueues({
      ...{ pendingLimit, sizeLimit: readLimit, countLimit: contentsAtOnce },
      full: 'too many contents of webhooks are being read',
      run: (items) => settleAll(items, () => this.#readContents(items)),
    });
  }

  /** Resolves when the deliveries are durable. @param added deliveries of one account, with their contents */
  store(added: readonly NewDelivery[]): Promise<void> {
    return this.#add(added[0]?.[0].ownerId ?? '', added.map(newLine));
  }

  /** Stores the progress of a delivery. @param dropsContent for a delivery that will not be sent again */
  note(key: Key, progress: Progress, dropsContent: boolean): Promise<void> {
    const line = noteLine(key, progress, dropsContent ? dropped : '');
    return this.#add(key.ownerId, [line], progress.state === 'delivered' ? '' : failures);
  }

  /** Stores in one INSERT that a delivery was split, and the deliveries in its place. */
  split(key: Key, progress: Progress, singles: readonly NewDelivery[]): Promise<void> {
    return this.#add(key.ownerId, [...singles.map(newLine), noteLine(key, progress, dropped)], failures);
  }

  /** The content of a delivery; null: it is no longer kept. */
  content({ ownerId, id, bytes }: Pick<Delivery, 'ownerId' | 'id' | 'bytes'>): Promise<string | null> {
    const queued = { queue: '', shape: '', size: bytes, account: ownerId, signal: never };
    return this.#reads.add({ ...queued, id });
  }

  /** Totals of the pending deliveries of a process, by account. */
  pendingTotals(process: string): Promise<{ ownerId: string; count: number; bytes: number }[]> {
    return this.#db.rows({
      sql: `SELECT owner_id AS ownerId, toFloat64(count()) AS count, toFloat64(sum(bytes)) AS bytes FROM ${this.#table} FINAL
        WHERE state = 'pending' AND process = ${textLiteral(process)} GROUP BY owner_id`,
    });
  }

  /** The pending deliveries of a process and an account, oldest first, after an id. */
  pendingOf(process: string, ownerId: string, after: string, limit: number): Promise<Delivery[]> {
    const mine = `owner_id = ${textLiteral(ownerId)} AND id > ${textLiteral(after)}
      AND state = 'pending' AND process = ${textLiteral(process)}`;
    return this.#select(`${mine} ORDER BY id LIMIT ${limit}`);
  }

  /** The newest of some deliveries. */
  recent(
    { ownerId: account, spaces }: DeliveryScope,
    limit: number,
    signal: AbortSignal,
  ): Promise<Delivery[]> {
    const among = spaces === undefined ? '' : ` AND space IN (${spaces.map(textLiteral).join(', ')})`;
    const own = `owner_id = ${textLiteral(account)}${among}`;
    // reads only ids, in the order of the table, from its end
    const newest = `SELECT DISTINCT id FROM ${this.#table} WHERE ${own} ORDER BY id DESC LIMIT ${limit}`;
    const where = `${own} AND id >= (SELECT min(id) FROM (${newest})) ORDER BY id DESC LIMIT ${limit}`;
    return this.#select(where, { signal, account });
  }

  async find(account: string, id: string, signal: AbortSignal): Promise<Delivery | null> {
    const where = `owner_id = ${textLiteral(account)} AND id = ${textLiteral(id)} LIMIT 1`;
    return (await this.#select(where, { signal, account }))[0] ?? null;
  }

  /**
   * Gives orphaned deliveries to a process. @param since processes seen later are alive; null: there are no others
   * @param mails whether it can make mails
   */
  async adopt(process: string, since: Date | null, mails = true): Promise<void> {
    const key = keyColumns.join(', ');
    const calls = mails ? '' : " AND NOT startsWith(event, 'mail.')";
    const sql = `INSERT INTO ${this.#table} (${key}, ${progressColumns.join(', ')})
      SELECT ${key}, ${textLiteral(process)}, state, attempts, status, problem, now64(3, 'UTC'), next_at, expires_at
      FROM ${this.#table} FINAL WHERE state = 'pending' AND ${this.isOrphan(process, since)}${calls}`;
    await this.#db.command({ sql });
  }

  /** SQL condition: the delivery belongs neither to this process nor to another one that is alive. */
  isOrphan(process: string, since: Date | null): string {
    const others = `process != ${textLiteral(process)}`;
    if (since === null) return others;
    const time = timeLiteral(since);
    return `${others} AND updated_at < ${time}
      AND process NOT IN (SELECT process FROM ${this.#processes} WHERE alive_at > ${time})`;
  }

  /** Removes the deliveries of a deleted account. */
  removeAll(ownerId: string, signal: AbortSignal): Promise<void> {
    const sql = `DELETE FROM ${this.#table} WHERE owner_id = ${textLiteral(ownerId)}`;
    return this.#db.command({ sql, signal });
  }

  sayAlive(process: string): Promise<void> {
    const lines = Buffer.from(lineOf([process, timestampText(new Date())]));
    return this.#db.insert({ table: this.#processes, columns: ['process', 'alive_at'], lines });
  }

  /** Processes last seen before a time, each with its last sign of life. */
  async silent(since: Date): Promise<readonly string[]> {
    const rows = await this.#db.rows<{ process: string }>({
      sql: `SELECT concat(process, ' ', toString(max(alive_at))) AS process FROM ${this.#processes} AS seen
        GROUP BY seen.process HAVING max(alive_at) <= ${timeLiteral(since)}`,
    });
    return rows.map(({ process }) => process);
  }

  #add(account: string, texts: readonly string[], queue = ''): Promise<void> {
    const lines = Buffer.from(texts.join(''));
    return this.#inserts.add({ queue, shape: '', size: lines.byteLength, account, signal: never, lines });
  }

  async #insert(items: readonly QueuedItem<QueuedLines, void>[]): Promise<() => void> {
    const lines = Buffer.concat(items.map(({ item }) => item.lines));
    await this.#db.insert({ table: this.#table, columns, lines });
    return () => {};
  }

  async #readContents(
    items: readonly QueuedItem<ContentRead, string | null>[],
  ): Promise<(read: ContentRead) => string | null> {
    const keys = items.map(({ item: { account, id } }) => `(${textLiteral(account)}, ${textLiteral(id)})`);
    const sql = `SELECT id, content FROM ${this.#table} FINAL WHERE (owner_id, id) IN (${keys.join(', ')})`;
    const rows = await this.#db.rows<{ id: string; content: string }>({ sql });
    const found = new Map(rows.map(({ id, content }) => [id, content]));
    return ({ id }) => {
      const content = found.get(id) ?? '';
      return content === '' || content === dropped ? null : content;
    };
  }

  async #select(rest: string, more: { signal?: AbortSignal; account?: string } = {}): Promise<Delivery[]> {
    const sql = `SELECT ${selection} FROM ${this.#table} FINAL WHERE ${rest}`;
    return (await this.#db.rows<Row>({ sql, ...more })).map(deliveryOf);
  }
}

/** Times as milliseconds since 1970. */
type Row = Omit<Delivery, 'createdAt' | 'updatedAt' | 'nextAt' | 'expiresAt'> & {
  readonly times: readonly [createdAt: number, updatedAt: number, nextAt: number, expiresAt: number];
};

function deliveryOf({ times, ...row }: Row): Delivery {
  const [createdAt, updatedAt, nextAt, expiresAt] = times;
  return {
    ...row,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    nextAt: new Date(nextAt),
    expiresAt: new Date(expiresAt),
  };
}

function newLine([delivery, content]: NewDelivery): string {
  const { spaceId, event, project, space, url, recordIds, bytes } = delivery;
  const change = [spaceId, event, project, space, url, recordIds, bytes];
  return lineOf([...keyValues(delivery), ...change, ...progressValues(delivery), content]);
}

function noteLine(key: Key, progress: Progress, content: string): string {
  return lineOf([...keyValues(key), ...noChange, ...progressValues(progress), content]);
}

function keyValues({ ownerId, id, createdAt }: Key): readonly unknown[] {
  return [ownerId, id, timestampText(createdAt)];
}

function progressValues(progress: Progress): readonly unknown[] {
  const { process, state, attempts, status, problem, updatedAt, nextAt, expiresAt } = progress;
  return [process, state, attempts, status, problem, ...[updatedAt, nextAt, expiresAt].map(timestampText)];
}

function lineOf(values: readonly unknown[]): string {
  return `${JSON.stringify(values)}\n`;
}

function timeLiteral(time: Date): string {
  return `toDateTime64(${textLiteral(timestampText(time))}, 3, 'UTC')`;
}
