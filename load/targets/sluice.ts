import type { StoredFiles } from '../files/file-session.ts';
import { performFile } from '../files/perform-file.ts';
import { ConnectionPool } from '../http/connection-pool.ts';
import { openStreams } from '../live/open-streams.ts';
import { anyRequest } from './any-request.ts';
import { liveFinds } from './sluice/live-finds.ts';
import { notedWrites } from './sluice/noted-writes.ts';
import { openFiles } from './sluice/open-files.ts';
import { prepareFiles, removeFiles } from './sluice/prepare-files.ts';
import { type PreparedSpaces, prepareSpaces, removeSpaces } from './sluice/prepare-spaces.ts';
import { sluiceAddress } from './sluice/sluice-address.ts';
import { sluiceRecords } from './sluice/sluice-records.ts';
import { verifyLoad } from './sluice/verify-load.ts';
import type { TargetKind } from './target.ts';

/** What workers need. */
interface Prepared {
  readonly spaces: PreparedSpaces;
  readonly files: StoredFiles;
}

/** A Sluice. Its credential is an access token, and its option `project` the project of the load (`load` by default). */
export const sluice: TargetKind = {
  options: ['project'],
  refuses: () => null,
  prepare: async (work): Promise<Prepared> => ({
    spaces: await prepareSpaces(work),
    files: await prepareFiles(work),
  }),
  verify: verifyLoad,
  open(session) {
    const { mix, address, notes } = session;
    const target = sluiceAddress(address);
    const { spaces, files } = session.prepared as Prepared;
    const pool = new ConnectionPool(address.url);
    const fileSession = openFiles(target, mix.seed, files);
    const performer = anyRequest(session, {
      api: sluiceRecords(target, spaces),
      pool,
      fields: `authorization: Bearer ${address.credential}\r\n`,
      files: {
        performerOf: (request) => (number, signal) => performFile(fileSession, request, number, signal),
        close: () => fileSession.close(),
      },
    });
    return {
      ...(notes === undefined ? performer : notedWrites(performer, { mix, spaces, notes })),
      openStreams: (work) => openStreams(work, mix.seed, liveFinds(session, pool)),
    };
  },
  cleanUp: async (work) => {
    await removeSpaces(work);
    await removeFiles(work);
  },
};
