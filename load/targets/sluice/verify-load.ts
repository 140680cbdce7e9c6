import { Exchange } from '../../files/exchange.ts';
import type { FileSession } from '../../files/file-session.ts';
import { within } from '../../http/within.ts';
import type { MixSpace } from '../../mix/mix.ts';
import type { Verification } from '../../run/result.ts';
import type { ReadRecord, RecordReader } from '../../verify/verify-records.ts';
import { verifyStored } from '../../verify/verify-stored.ts';
import type { Verify } from '../target.ts';
import { openFiles } from './open-files.ts';
import { type SluiceAddress, sluiceAddress, structureOf } from './sluice-address.ts';

/** Milliseconds for a find. */
const findTimeout = 60_000;
/** Records of an answer: those that were looked for, and any that are stored twice. */
const mostFound = 1000;

/** Reads again what a load has stored on a Sluice. */
export async function verifyLoad(work: Verify): Promise<Verification> {
  const address = sluiceAddress(work.address);
  const session = openFiles(address, work.mix.seed);
  try {
    return await verifyStored(work, session, (space) => readerOf(session, address, space));
  } finally {
    session.close();
  }
}

function readerOf(session: FileSession, { base, project }: SluiceAddress, space: MixSpace): RecordReader {
  const path = `${base}/${project}/${encodeURIComponent(space.name)}/_find_`;
  const fields = `structure: ${structureOf(project, space)}\r\n`;
  return {
    find(field, values, signal) {
      const body = { [field]: { in: values }, $limit: mostFound };
      return within(signal, findTimeout, (limit) =>
        new Exchange(session, limit).ask<ReadRecord[]>(200, `POST ${path}`, body, fields),
      );
    },
  };
}
