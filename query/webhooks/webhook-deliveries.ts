import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { overloaded } from '../../common/errors/catalogue.ts';
import { timestampText } from '../../common/metadata/row-values.ts';

export interface Delivery {
  readonly ownerId: string;
  readonly id: string;
  /** That sends it. */
  readonly process: string;
  readonly spaceId: string;
  readonly event: string;
  readonly project: string;
  readonly space: string;
  readonly url: string;
  readonly body: string;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  /** Of the last answer; 0: there was none. */
  readonly status: number;
  readonly problem: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly nextAt: Date;
  /** When it is given up. */
  readonly expiresAt: Date;
  readonly version: number;
}

/** The queue of deliveries in the store: each is a row, and the newest version of it counts. */
export interface Deliveries {
  /** Resolves when they are durable. Those of several callers share statements. */
  store(deliveries: readonly Delivery[]): Promise<void>;
  /** Those that a process is to send, oldest first. */
  pendingOf(process: string, limit: number): Promise<readonly Delivery[]>;
  /** Those that nobody sends: their processes have not been heard of. @param since null: there is no other process */
  orphans(process: string, since: Date | null, limit: number): Promise<readonly Delivery[]>;
  sayAlive(process: string): Promise<void>;
  ofOwner(ownerId: string, limit: number, signal: AbortSignal): Promise<readonly Delivery[]>;
  find(ownerId: string, id: string, signal: AbortSignal): Promise<Delivery | null>;
}

const columns = [
  ...['owner_id', 'id', 'process', 'space_id', 'event', 'project', 'space', 'url', 'body', 'state'],
  ...['attempts', 'status', 'problem', 'created_at', 'updated_at', 'next_at', 'expires_at', 'version'],
];
const milliseconds = (name: string): string => `toFloat64(toUnixTimestamp64Milli(${name})) AS ${name}_ms`;
const selection = [
  ...columns.slice(0, 13),
  ...['created_at', 'updated_at', 'next_at', 'expires_at'].map(milliseconds),
  'toFloat64(version) AS version_number',
].join(', ');
/** Characters of rows that may wait to be stored in this process. */
const waitingLimit = 64 * 1024 ** 2;

interface Waiting {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function createDeliveries({ db, database }: { db: Database; database: string }): Deliveries {
  const table = `${database}.webhook_deliveries`;
  const processes = `${database}.webhook_processes`;
  let waiting: Waiting[] = [];
  let waitingLength = 0;
  let storing = false;

  const storeWaiting = async (): Promise<void> => {
    storing = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      waitingLength = 0;
      const lines = Buffer.from(batch.map(({ text }) => text).join(''));
      await db.insert({ table, columns, lines }).then(
        () => batch.forEach(({ resolve }) => void resolve()),
        (error: unknown) => batch.forEach(({ reject }) => void reject(error)),
      );
    }
    storing = false;
  };

  const select = async (rest: string, signal?: AbortSignal): Promise<readonly Delivery[]> => {
    const rows = await db.rows<Row>({ sql: `SELECT ${selection} FROM ${table} FINAL ${rest}`, signal });
    return rows.map(deliveryOf);
  };

  return {
    store(deliveries) {
      const text = deliveries.map(lineOf).join('');
      if (waitingLength + text.length > waitingLimit && waitingLength > 0) {
        return Promise.reject(overloaded('too many webhooks wait to be stored'));
      }
      waitingLength += text.length;
      const stored = new Promise<void>((resolve, reject) => waiting.push({ text, resolve, reject }));
      if (!storing) void storeWaiting();
      return stored;
    },
    pendingOf: (process, limit) =>
      select(`WHERE state = 'pending' AND process = ${textLiteral(process)} ORDER BY id LIMIT ${limit}`),
    orphans(process, since, limit) {
      const time = since === null ? null : `toDateTime64(${textLiteral(timestampText(since))}, 3, 'UTC')`;
      const gone =
        time === null
          ? ''
          : `AND updated_at < ${time} AND process NOT IN (SELECT process FROM ${processes} WHERE alive_at > ${time})`;
      return select(
        `WHERE state = 'pending' AND process != ${textLiteral(process)} ${gone} ORDER BY id LIMIT ${limit}`,
      );
    },
    sayAlive(process) {
      const lines = Buffer.from(`${JSON.stringify([process, timestampText(new Date())])}\n`);
      return db.insert({ table: processes, columns: ['process', 'alive_at'], lines });
    },
    ofOwner: (ownerId, limit, signal) =>
      select(`WHERE owner_id = ${textLiteral(ownerId)} ORDER BY id DESC LIMIT ${limit}`, signal),
    async find(ownerId, id, signal) {
      const where = `WHERE owner_id = ${textLiteral(ownerId)} AND id = ${textLiteral(id)} LIMIT 1`;
      const [delivery] = await select(where, signal);
      return delivery ?? null;
    },
  };
}

interface Row {
  readonly owner_id: string;
  readonly id: string;
  readonly process: string;
  readonly space_id: string;
  readonly event: string;
  readonly project: string;
  readonly space: string;
  readonly url: string;
  readonly body: string;
  readonly state: string;
  readonly attempts: number;
  readonly status: number;
  readonly problem: string;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
  readonly next_at_ms: number;
  readonly expires_at_ms: number;
  readonly version_number: number;
}

function deliveryOf(row: Row): Delivery {
  const { id, process, event, project, space, url, body, attempts, status, problem } = row;
  return {
    ...{ id, process, event, project, space, url, body, attempts, status, problem },
    ownerId: row.owner_id,
    spaceId: row.space_id,
    state: row.state as Delivery['state'],
    createdAt: new Date(row.created_at_ms),
    updatedAt: new Date(row.updated_at_ms),
    nextAt: new Date(row.next_at_ms),
    expiresAt: new Date(row.expires_at_ms),
    version: row.version_number,
  };
}

function lineOf(delivery: Delivery): string {
  const { ownerId, id, process, spaceId, event, project, space, url, body, state } = delivery;
  const { attempts, status, problem, createdAt, updatedAt, nextAt, expiresAt, version } = delivery;
  const times = [createdAt, updatedAt, nextAt, expiresAt].map(timestampText);
  return `${JSON.stringify([
    ...[ownerId, id, process, spaceId, event, project, space, url, body, state],
    ...[attempts, status, problem, ...times, version],
  ])}\n`;
}
