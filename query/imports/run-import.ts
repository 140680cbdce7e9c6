import { Worker } from 'node:worker_threads';
import type { Hasher } from '../../common/auth/hasher.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { forEachYielding } from '../../common/limits/yielding-loop.ts';
import { findStored } from '../records/find-stored.ts';
import type { UniqueValue } from '../records/unique-values.ts';
import { hashOf } from '../sql/record-keys.ts';
import type { StagedRecords } from '../sql/staged-records.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import { valueKey } from '../unique/reservation-keys.ts';
import { assertRoom } from './spool-body.ts';
import type {
  Answered,
  AskedKeys,
  AskedValues,
  Block,
  Ended,
  FromThread,
  Question,
  ThreadProgress,
  ThreadTask,
  ToThread,
} from './thread-messages.ts';

export interface StageDeps {
  readonly store: RecordStore;
  readonly hasher: Hasher;
}

/** Memory of the thread beside its buffers. */
const threadMegabytes = 512;
/** What is dropped within so much is dropped without being copied. */
const youngMegabytes = 96;
const hashCharacters = 8;

/** The thread's program. From TypeScript it needs a loader of its own: it has none of the process. */
const program = import.meta.url.endsWith('.ts')
  ? `import('tsx/esm/api').then(({ register }) => { register(); return import(${moduleOf('./import-thread.ts')}); })`
  : `import(${moduleOf('./import-thread.js')})`;

function moduleOf(path: string): string {
  return JSON.stringify(new URL(path, import.meta.url).href);
}

/**
 * Reads a file on a thread of its own, and stores its records in a table that nobody sees. Resolves with how it ended;
 * rejects when the signal is aborted, and when the engine fails.
 * @param report called with each step; `stored` records are in the table
 */
export async function stageRecords(
  { store, hasher }: StageDeps,
  task: ThreadTask,
  staged: StagedRecords,
  signal: AbortSignal,
  report: (progress: ThreadProgress, stored: number) => void,
): Promise<{ readonly isCut: boolean; readonly stored: number }> {
  const { space } = task;
  const { db } = store;
  await db.command({ ...staged.drop(), signal });
  await db.command({ ...staged.create(), signal });
  signal.throwIfAborted();
  const worker = new Worker(program, {
    ...{ eval: true, workerData: task, name: 'import', env: {}, execArgv: [] },
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
  });
  let stored = 0;
  const answer = async (message: Question): Promise<ToThread | Ended> => {
    switch (message.type) {
      case 'keys':
        return suspectsOf(store, space, message, signal);
      case 'values':
        return storedOf(store, space, message, signal);
      case 'hashes':
        return hasher.hashValues(message.values, signal, space.ownerId);
      case 'block':
        // its part is as large as its rows
        if (store.alone) await assertRoom(task.path);
        await insertBlock(db, staged, message);
        stored += message.records;
        report(message.progress, stored);
        return [];
      case 'ended':
        report(message.progress, stored);
        return message;
    }
  };
  try {
    const { isCut } = await new Promise<Ended>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      worker.on('error', reject);
      worker.on('exit', () => reject(new Error('the thread of an import ended')));
      worker.on('message', ({ id, message }: FromThread) => {
        answer(message).then((result) => {
          if ('type' in result) resolve(result);
          else if (message.type !== 'block') worker.postMessage({ id, answer: result } satisfies Answered);
          else {
            const { rows } = message;
            worker.postMessage({ id, answer: result, rows } satisfies Answered, [rows.buffer as ArrayBuffer]);
          }
        }, reject);
      });
    });
    return { isCut, stored };
  } finally {
    await worker.terminate();
  }
}

async function insertBlock(
  db: Database,
  staged: StagedRecords,
  { columns, types, rows }: Block,
): Promise<void> {
  await db.insert({ table: staged.name, columns, types, lines: rows, home: staged.home });
}

/** Places of the values that may be stored. From now on all of them may be. */
async function suspectsOf(
  { keys }: RecordStore,
  { id }: RecordSpace,
  { hashes, isEmpty }: AskedKeys,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const places: number[] = [];
  const all = Array.from({ length: hashes.length / hashCharacters }, (_, place) => place);
  await forEachYielding(
    all,
    (place) => {
      const hash = hashes.slice(place * hashCharacters, (place + 1) * hashCharacters);
      if (!isEmpty && keys.mayHave(id, hash)) places.push(place);
      keys.add(id, hash);
    },
    signal,
  );
  return places;
}

/** Places of the values that records have. */
async function storedOf(
  store: RecordStore,
  space: RecordSpace,
  { values }: AskedValues,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const fields = new Map(space.structure.fields.map((field) => [slotOf(field), field]));
  const unique = new Map<string, UniqueValue>();
  const places = new Map<string, number>();
  await forEachYielding(
    values,
    ({ slot, value }, index) => {
      const field = fields.get(slot);
      if (field === undefined) return;
      const key = valueKey(space, field, value);
      unique.set(key, { field, value, hash: hashOf(slot, value), index });
      places.set(key, index);
    },
    signal,
  );
  const stored = await findStored(store, space, unique, signal);
  return [...stored].flatMap((key) => places.get(key) ?? []);
}
