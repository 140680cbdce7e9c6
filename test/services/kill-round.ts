import { type Answer, call, structureOf } from './record-client.ts';

/** A stored record as answers show it. */
export interface Stored {
  readonly id: string;
  readonly key: string;
  readonly batch: string | null;
  readonly round: number;
  readonly n: number;
}

/** What the clients of one round sent, and what they were told. */
export interface RoundLog {
  readonly round: number;
  /** Keys of every array insert, and whether it was acknowledged. */
  readonly batches: Map<string, { readonly keys: readonly string[]; acknowledged: boolean }>;
  /** What was acknowledged as inserted, by key. */
  readonly inserted: Map<string, Stored>;
  /** By key: the last acknowledged value, and the one that was under way. */
  readonly updates: Map<string, { acknowledged: number; sent: number }>;
  readonly deleted: Set<string>;
  /** Deletes under way when the process died: done or not. */
  readonly deleting: Set<string>;
  /** How often an insert of a contested key was acknowledged. */
  readonly contested: Map<string, number>;
  /** Answers that a server in good health would not give. */
  readonly odd: string[];
  acknowledgements: number;
  /** Requests without an answer. */
  cut: number;
}

export const batchSize = 20;
const project = 'kill';
export const space = 'records';
export const path = `/${project}/${space}`;

/** Every round adds a field, so that the structure changes under kills too. */
export function structureOfRound(round: number): string {
  return structureOf(project, space, [
    { name: 'key', type: 'TEXT', unique: true, required: true },
    { name: 'batch', type: 'TEXT' },
    { name: 'round', type: 'NUMBER' },
    { name: 'n', type: 'NUMBER', defaultValue: 0 },
    { name: `r${round}`, type: 'NUMBER', defaultValue: round },
  ]);
}

/**
 * Writes from several connections until the server is gone: inserts of arrays and of single records, updates, deletes,
 * and pairs that want the same unique value. @param onProgress called with the number of acknowledgements so far
 */
export async function writeUntilGone(
  server: { baseUrl: string; token: string },
  round: number,
  onProgress: (acknowledged: number) => void,
): Promise<RoundLog> {
  const log: RoundLog = {
    round,
    batches: new Map(),
    inserted: new Map(),
    updates: new Map(),
    deleted: new Set(),
    deleting: new Set(),
    contested: new Map(),
    odd: [],
    acknowledgements: 0,
    cut: 0,
  };
  const structure = structureOfRound(round);
  let gone = false;
  /** The answer, or null when the connection broke. */
  const send = async (suffix: string, body?: unknown, method = 'POST'): Promise<Answer | null> => {
    try {
      const more = body === undefined ? {} : { body };
      const answer = await call({ ...server, path: `${path}${suffix}`, method, structure, ...more });
      if (answer.status === 200) onProgress(++log.acknowledgements);
      return answer;
    } catch {
      gone = true;
      log.cut++;
      return null;
    }
  };
  const insertOne = async (key: string): Promise<Stored | null> => {
    const answer = await send('/_single_', { key, round });
    if (answer?.status === 200) log.inserted.set(key, answer.body as Stored);
    else if (answer !== null) log.odd.push(`insertOne ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer?.status === 200 ? (answer.body as Stored) : null;
  };

  const insertArrays = async (worker: number): Promise<void> => {
    for (let i = 0; !gone; i++) {
      const batch = `${round}-batch-${worker}-${i}`;
      const keys = Array.from({ length: batchSize }, (_, place) => `${batch}-${place}`);
      const entry = { keys, acknowledged: false };
      log.batches.set(batch, entry);
      const answer = await send(
        '',
        keys.map((key) => ({ key, batch, round })),
      );
      if (answer === null) return;
      if (answer.status !== 200) log.odd.push(`insert ${answer.status} ${JSON.stringify(answer.body)}`);
      else {
        entry.acknowledged = true;
        for (const record of answer.body as Stored[]) log.inserted.set(record.key, record);
      }
    }
  };
  const insertSingly = async (worker: number): Promise<void> => {
    for (let i = 0; !gone; i++) await insertOne(`${round}-one-${worker}-${i}`);
  };
  const update = async (worker: number): Promise<void> => {
    const records: Stored[] = [];
    for (let i = 0; i < 4; i++) {
      const record = await insertOne(`${round}-updated-${worker}-${i}`);
      if (record === null) return;
      records.push(record);
      log.updates.set(record.key, { acknowledged: 0, sent: 0 });
    }
    for (let n = 1; !gone; n++) {
      const { id, key } = records[n % records.length] as Stored;
      const entry = log.updates.get(key) as { acknowledged: number; sent: number };
      entry.sent = n;
      const target = n % 2 === 0 ? `/update-by-id?id=${id}` : `/update?key=${key}`;
      const answer = await send(target, { n });
      if (answer?.status === 200) entry.acknowledged = n;
      else if (answer !== null) log.odd.push(`update ${answer.status} ${JSON.stringify(answer.body)}`);
    }
  };
  const remove = async (worker: number): Promise<void> => {
    for (let i = 0; !gone; i++) {
      const record = await insertOne(`${round}-deleted-${worker}-${i}`);
      if (record === null) return;
      log.deleting.add(record.key);
      const answer = await send(`?id=${record.id}`, undefined, 'DELETE');
      if (answer === null) return;
      log.deleting.delete(record.key);
      if (answer.status === 200) log.deleted.add(record.key);
      else log.odd.push(`delete ${answer.status} ${JSON.stringify(answer.body)}`);
    }
  };
  const contest = async (): Promise<void> => {
    for (let i = 0; !gone; i++) {
      const key = `${round}-contested-${i}`;
      log.contested.set(key, 0);
      const rival = async (): Promise<void> => {
        const answer = await send('/_single_', { key, round });
        if (answer?.status === 200) {
          log.contested.set(key, (log.contested.get(key) as number) + 1);
          log.inserted.set(key, answer.body as Stored);
        } else if (answer !== null && answer.body.code !== 'not_unique') {
          log.odd.push(`contest ${answer.status} ${JSON.stringify(answer.body)}`);
        }
      };
      await Promise.all([rival(), rival()]);
    }
  };
  await Promise.all([
    ...[0, 1, 2].map(insertArrays),
    ...[0, 1].map(insertSingly),
    ...[0, 1].map(update),
    ...[0, 1].map(remove),
    contest(),
  ]);
  return log;
}

/** What the log of a round says and the stored records of that round don't. */
export function contradictions(log: RoundLog, records: readonly Stored[]): readonly string[] {
  const found: string[] = [...log.odd];
  const byKey = new Map<string, Stored>();
  for (const record of records) {
    if (byKey.has(record.key)) found.push(`${record.key} is stored twice`);
    byKey.set(record.key, record);
  }
  if (new Set(records.map(({ id }) => id)).size !== records.length) found.push('an id is stored twice');
  for (const [key, told] of log.inserted) {
    if (log.deleted.has(key)) {
      if (byKey.has(key)) found.push(`${key} was deleted and is there`);
      continue;
    }
    const stored = byKey.get(key);
    if (stored === undefined) {
      if (!log.deleting.has(key)) found.push(`${key} was inserted and is lost`);
      continue;
    }
    const update = log.updates.get(key);
    if (update === undefined) {
      if (JSON.stringify(stored) !== JSON.stringify(told)) found.push(`${key} is not what was answered`);
    } else if (stored.id !== told.id || (stored.n !== update.acknowledged && stored.n !== update.sent)) {
      found.push(`${key} has n ${stored.n}, not ${update.acknowledged} or ${update.sent}`);
    }
  }
  for (const [batch, { keys, acknowledged }] of log.batches) {
    const there = keys.filter((key) => byKey.has(key)).length;
    const whole = there === keys.length || (there === 0 && !acknowledged);
    if (!whole) found.push(`${there} records of ${batch} are stored`);
  }
  for (const [key, count] of log.contested)
    if (count > 1) found.push(`${key} was acknowledged ${count} times`);
  return found;
}
