import type { FileSession, StoredFiles } from '../files/file-session.ts';
import { performFile } from '../files/perform-file.ts';
import { ConnectionPool } from '../http/connection-pool.ts';
import { openStreams } from '../live/open-streams.ts';
import type { MixRequest } from '../mix/mix.ts';
import { plainRequest } from './plain-requests.ts';
import { liveFinds } from './sluice/live-finds.ts';
import { openFiles } from './sluice/open-files.ts';
import { prepareFiles, removeFiles } from './sluice/prepare-files.ts';
import { type PreparedSpaces, prepareSpaces, removeSpaces } from './sluice/prepare-spaces.ts';
import { type Perform, recordRequest } from './sluice/record-requests.ts';
import { sluiceAddress } from './sluice/sluice-address.ts';
import { verifyLoad } from './sluice/verify-load.ts';
import type { Session, TargetKind } from './target.ts';

/** What workers need. */
interface Prepared {
  readonly spaces: PreparedSpaces;
  readonly files: StoredFiles;
}

/** A Sluice. Its credential is an access token, and its option `project` the project of the load (`load` by default). */
export const sluice: TargetKind = {
  refuses: () => null,
  prepare: async (work): Promise<Prepared> => ({
    spaces: await prepareSpaces(work),
    files: await prepareFiles(work),
  }),
  verify: verifyLoad,
  open(session) {
    const pool = new ConnectionPool(session.address.url);
    const { files } = session.prepared as Prepared;
    const fileSession = openFiles(sluiceAddress(session.address), session.mix.seed, files);
    const performers = new Map<string, Perform>();
    return {
      perform: (request, number, signal) => {
        let perform = performers.get(request.name);
        if (perform === undefined) {
          perform = performOf(request, session, { pool, fileSession });
          performers.set(request.name, perform);
        }
        return perform(number, signal);
      },
      openStreams: (work) => openStreams(work, session.mix.seed, liveFinds(session, pool)),
      close: () => {
        pool.close();
        fileSession.close();
      },
    };
  },
  cleanUp: async (work) => {
    await removeSpaces(work);
    await removeFiles(work);
  },
};

function performOf(
  request: MixRequest,
  { mix, address, prepared }: Session,
  { pool, fileSession }: { readonly pool: ConnectionPool; readonly fileSession: FileSession },
): Perform {
  const { spaces } = prepared as Prepared;
  const target = sluiceAddress(address);
  switch (request.kind) {
    case 'request':
      return plainRequest(request, {
        pool,
        seed: mix.seed,
        url: target.url,
        fields: `authorization: Bearer ${address.credential}\r\n`,
      });
    case 'upload':
    case 'download':
      return (number, signal) => performFile(fileSession, request, number, signal);
    case 'live':
      throw new Error('streams are opened by their phase');
    default:
      return recordRequest(request, { mix, address: target, prepared: spaces, pool });
  }
}
