import { Exchange } from '../../files/exchange.ts';
import type { FileSession, StoredFile } from '../../files/file-session.ts';
import type { MixSpace } from '../../mix/mix.ts';
import type { Verification } from '../../run/result.ts';
import { hashOf } from '../../seed/hash.ts';
import { verifyFiles } from '../../verify/verify-files.ts';
import {
  type ExpectedRecord,
  type ReadRecord,
  type RecordReader,
  verifyRecords,
} from '../../verify/verify-records.ts';
import { WrongList } from '../../verify/wrong-list.ts';
import type { Verify } from '../target.ts';
import { openFiles } from './open-files.ts';
import { changedField } from './record-encoder.ts';
import { type SluiceAddress, sluiceAddress, structureOf } from './sluice-address.ts';

/** Records of a space that were stored before the load, and are verified at most. */
const mostPrepared = 100_000;
/** Parts the choice of these records from the other choices. */
const salt = 0x6b1d;
/** Milliseconds for a find. */
const findTimeout = 60_000;
/** Records of an answer: those that were looked for, and any that are stored twice. */
const mostFound = 1000;

/** Reads again what a load has stored on a Sluice. */
export async function verifyLoad(work: Verify): Promise<Verification> {
  const { mix, stored, signal, progress } = work;
  const address = sluiceAddress(work.address);
  const session = openFiles(address, mix.seed);
  const list = new WrongList();
  try {
    const files = stored.filter((one): one is StoredFile & { kind: 'file' } => one.kind === 'file');
    await verifyFiles(session, files, { list, signal });
    for (const space of mix.spaces) {
      const reader = readerOf(session, address, space);
      const changed = hasRequest(work, space, 'update') ? changedField(mix.requests, space) : null;
      const records = [...insertedInto(space, work), ...preparedOf(space, work)];
      await verifyRecords(reader, { seed: mix.seed, space, records, changed }, { list, signal });
    }
  } finally {
    session.close();
  }
  progress(`${list.checked} records and files were read again: ${list.wrong.length || 'nothing'} is wrong`);
  return list.verification;
}

function insertedInto({ name }: MixSpace, { stored }: Verify): ExpectedRecord[] {
  return stored.flatMap((one) => {
    if (one.kind !== 'record' || one.space !== name) return [];
    const { index, id, count = 1 } = one;
    return Array.from({ length: count }, (_, at) => ({ index: index + at, id, mayDiffer: false }));
  });
}

/** A share of the records that were stored before the load, unless it deletes some; updates are of these alone. */
function preparedOf(space: MixSpace, work: Verify): ExpectedRecord[] {
  const { mix, share } = work;
  const records: ExpectedRecord[] = [];
  if (hasRequest(work, space, 'delete')) return records;
  for (let index = 0; index < space.records && records.length < mostPrepared; index++)
    if (hashOf(mix.seed, index, salt) < share * 2 ** 32) records.push({ index, id: null, mayDiffer: true });
  return records;
}

function hasRequest({ mix }: Verify, { name }: MixSpace, kind: 'update' | 'delete'): boolean {
  return mix.requests.some((request) => request.kind === kind && request.space === name);
}

function readerOf(session: FileSession, { base, project }: SluiceAddress, space: MixSpace): RecordReader {
  const path = `${base}/${project}/${encodeURIComponent(space.name)}/_find_`;
  const fields = `structure: ${structureOf(project, space)}\r\n`;
  return {
    find(field, values, signal) {
      const exchange = new Exchange(session, AbortSignal.any([signal, AbortSignal.timeout(findTimeout)]));
      const body = { [field]: { in: values }, $limit: mostFound };
      return exchange.ask<ReadRecord[]>(200, `POST ${path}`, body, fields);
    },
  };
}
