import type { Worker } from 'node:worker_threads';
import type { Hasher } from '#auth/hasher.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import { findStored } from '#records/find-stored.ts';
import type { OnConflict } from '#records/input/parse-on-conflict.ts';
import { hashOf } from '#records/sql/record-keys.ts';
import type { StagedRecords } from '#records/sql/staged-records.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { slotOf } from '#records/structure/slots.ts';
import { valueKey } from '#records/unique/reservation-keys.ts';
import type { UniqueValue } from '#records/unique-values.ts';
import type { NamedFiles } from '../../file-fields/named-files.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type {
  BlockMessage,
  EndMessage,
  IdsRequest,
  KeysRequest,
  MessageEnvelope,
  ReplyEnvelope,
  ThreadMessage,
  ThreadProgress,
  ThreadReply,
  ThreadTask,
  ValuesRequest,
} from '../thread/thread-messages.ts';
import { endingThread, startThread, threadFailure } from '../thread/worker-thread.ts';
import { type ApplyParts, applyUpserts } from './apply-upserts.ts';
import { assertRoom } from './spool-body.ts';

export interface StageParts extends ApplyParts {
  readonly hasher: Hasher;
  readonly recordFiles: Pick<NamedFiles, 'findNamed' | 'begin'>;
}

interface StageOptions {
  readonly space: RecordSpace;
  readonly staged: StagedRecords;
  readonly conflict: OnConflict | null;
  /** Called at each step. @param stored records in the staging table */
  readonly report: (progress: ThreadProgress, stored: number) => void;
}

const importThread = new URL('../thread/import-thread', import.meta.url);
const hashCharacters = 8;
/** Milliseconds without a message after which a thread counts as stuck in its file. */
const silenceLimit = 30_000;

/**
 * Reads a file on its own thread, and writes its records to a staging table. Resolves with the outcome; rejects when the
 * signal is aborted, or the engine fails.
 */
export async function stageRecords(
  deps: StageParts,
  task: ThreadTask,
  { space, staged, conflict, report }: StageOptions,
  signal: AbortSignal,
): Promise<{ readonly isCut: boolean; readonly stored: number }> {
  const { store, hasher, recordFiles } = deps;
  const { db } = store;
  await db.command({ ...staged.drop(), signal });
  await db.command({ ...staged.create(), signal });
  signal.throwIfAborted();
  const worker = await startThread(importThread, task);
  let stored = 0;
  const answer = async (message: ThreadMessage): Promise<ThreadReply | EndMessage> => {
    switch (message.type) {
      case 'keys':
        return suspectPlaces(store, space, message, signal);
      case 'values':
        return storedValuePlaces(store, space, message, signal);
      case 'ids':
        return storedIdPlaces(store, space, message, signal);
      case 'upserts':
        return conflict === null ? [] : applyUpserts(deps, space, conflict, message.records, signal);
      case 'hashes':
        return hasher.hashValues(message.values, signal, space.ownerId);
      case 'files': {
        const { texts } = await recordFiles.findNamed(space, message.names, signal);
        return message.names.map((name) => texts.get(name) ?? '');
      }
      case 'block':
        // the new part takes as much disk space as the rows
        if (store.singleWriter) await assertRoom(task.path);
        await insertBlock(db, staged, message);
        stored += message.records;
        report(message.progress, stored);
        return [];
      case 'progress':
        report(message.progress, stored);
        return [];
      case 'ended':
        report(message.progress, stored);
        return message;
    }
  };
  const { isCut } = await endingThread(worker, () => conversation(worker, answer, signal));
  return { isCut, stored };
}

/** Answers a thread until it ends. Rejects when it fails or hangs, and when the signal is aborted. */
async function conversation(
  worker: Worker,
  answer: (message: ThreadMessage) => Promise<ThreadReply | EndMessage>,
  signal: AbortSignal,
): Promise<EndMessage> {
  // a thread that waits for an answer may be silent
  let open = 0;
  let lastHeard = performance.now();
  let watch: NodeJS.Timeout | undefined;
  const ended = new Promise<EndMessage>((resolve, reject) => {
    watch = setInterval(() => {
      if (open === 0 && performance.now() - lastHeard > silenceLimit)
        reject(new FileProblem(null, 'reading a part of it takes too long'));
    }, silenceLimit / 10);
    worker.on('message', ({ id, message }: MessageEnvelope) => {
      open++;
      answer(message).then((result) => {
        open--;
        lastHeard = performance.now();
        if ('type' in result) resolve(result);
        else if (message.type !== 'block') worker.postMessage({ id, answer: result } satisfies ReplyEnvelope);
        else {
          const { rows } = message;
          worker.postMessage({ id, answer: result, rows } satisfies ReplyEnvelope, [
            rows.buffer as ArrayBuffer,
          ]);
        }
      }, reject);
    });
  });
  return Promise.race([ended, threadFailure(worker, signal)]).finally(() => clearInterval(watch));
}

async function insertBlock(
  db: Database,
  staged: StagedRecords,
  { columns, types, rows }: BlockMessage,
): Promise<void> {
  await db.insert({ table: staged.name, columns, types, lines: rows, home: staged.home });
}

/** Places of the values that may be stored. */
async function suspectPlaces(
  { keys }: RecordStore,
  { id }: RecordSpace,
  { hashes }: KeysRequest,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const places: number[] = [];
  const all = Array.from({ length: hashes.length / hashCharacters }, (_, place) => place);
  await forEachYielding(
    all,
    (place) => {
      const hash = hashes.slice(place * hashCharacters, (place + 1) * hashCharacters);
      if (keys.mayHave(id, hash)) places.push(place);
    },
    signal,
  );
  return places;
}

/** Places of the ids that are stored. */
async function storedIdPlaces(
  { db, table }: RecordStore,
  { id: spaceId }: RecordSpace,
  { ids }: IdsRequest,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const places = new Map(ids.map((id, place) => [id, place]));
  const where = `_id IN (${ids.map(textLiteral).join(', ')})`;
  const rows = await db.rows<{ _id: string }>({
    ...table.select(spaceId, { columns: '_id', where }),
    signal,
  });
  return rows.flatMap(({ _id }) => places.get(_id) ?? []);
}

/** Places of the values that are stored. */
async function storedValuePlaces(
  store: RecordStore,
  space: RecordSpace,
  { values }: ValuesRequest,
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
