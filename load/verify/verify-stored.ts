import type { FileSession, StoredFile } from '../files/file-session.ts';
import type { MixSpace } from '../mix/mix.ts';
import type { Verification } from '../run/result.ts';
import { changedField } from '../targets/records/record-choice.ts';
import type { StoredUpdate, Verify } from '../targets/target.ts';
import { Unanswered } from './persistent.ts';
import { isVerified, possibleUpdates } from './updated-records.ts';
import { verifyFiles } from './verify-files.ts';
import { type ExpectedRecord, type RecordReader, verifyRecords } from './verify-records.ts';
import { WrongList } from './wrong-list.ts';

/** Reads again what a load has stored on a server, and compares it. */
export async function verifyStored(
  work: Verify,
  session: FileSession,
  /** Null: it has no records. */
  readerOf: ((space: MixSpace) => RecordReader) | null,
): Promise<Verification> {
  const { mix, stored, signal, progress } = work;
  const list = new WrongList();
  const files = stored.filter((one): one is StoredFile & { kind: 'file' } => one.kind === 'file');
  const verify = async (): Promise<void> => {
    await verifyFiles(session, files, { list, signal });
    for (const space of mix.spaces) {
      const reader = readerOf?.(space);
      if (reader === undefined) continue;
      const changed = hasRequest(work, space, 'update') ? changedField(mix.requests, space) : null;
      const records = [...insertedInto(space, work), ...preparedOf(space, work)];
      await verifyRecords(reader, { seed: mix.seed, space, records, changed }, { list, signal });
    }
  };
  await verify().catch((error: unknown) => {
    // what was found is said all the same
    if (!(error instanceof Unanswered) || list.wrong.length === 0) throw error;
    list.add(`the rest can't be read: ${error.message}`);
  });
  progress(`${list.checked} records and files were read again: ${list.wrong.length || 'nothing'} is wrong`);
  return list.verification;
}

function insertedInto({ name }: MixSpace, { stored }: Verify): ExpectedRecord[] {
  return stored.flatMap((one) => {
    if (one.kind !== 'record' || one.space !== name) return [];
    const { index, id, count = 1 } = one;
    return Array.from({ length: count }, (_, at) => ({ index: index + at, id, updates: [] }));
  });
}

/** A share of the records that were stored before the load, unless it deletes some; updates are of these alone. */
function preparedOf(space: MixSpace, work: Verify): ExpectedRecord[] {
  const { mix, share, stored } = work;
  const records: ExpectedRecord[] = [];
  if (hasRequest(work, space, 'delete')) return records;
  const updates = new Map<number, StoredUpdate[]>();
  for (const one of stored)
    if (one.kind === 'update' && one.space === space.name)
      updates.set(one.index, [...(updates.get(one.index) ?? []), one]);
  for (let index = 0; index < space.records; index++) {
    if (!isVerified(mix.seed, space, index, share)) continue;
    records.push({ index, id: null, updates: possibleUpdates(updates.get(index) ?? []) });
  }
  return records;
}

function hasRequest({ mix }: Verify, { name }: MixSpace, kind: 'update' | 'delete'): boolean {
  return mix.requests.some((request) => request.kind === kind && request.space === name);
}
