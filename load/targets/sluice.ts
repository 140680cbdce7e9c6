import { ConnectionPool } from '../http/connection-pool.ts';
import type { MixRequest } from '../mix/mix.ts';
import { plainRequest } from './plain-requests.ts';
import { type PreparedSpaces, prepareSpaces, removeSpaces } from './sluice/prepare-spaces.ts';
import { type Perform, recordRequest } from './sluice/record-requests.ts';
import { sluiceAddress } from './sluice/sluice-address.ts';
import type { Session, TargetKind } from './target.ts';

/** A Sluice. Its credential is an access token, and its option `project` the project of the load (`load` by default). */
export const sluice: TargetKind = {
  refuses: () => null,
  prepare: prepareSpaces,
  open(session) {
    const pool = new ConnectionPool(session.address.url);
    const performers = new Map<string, Perform>();
    return {
      perform: (request, number, signal) => {
        let perform = performers.get(request.name);
        if (perform === undefined) {
          perform = performOf(request, session, pool);
          performers.set(request.name, perform);
        }
        return perform(number, signal);
      },
      close: () => pool.close(),
    };
  },
  cleanUp: removeSpaces,
};

function performOf(request: MixRequest, { mix, address, prepared }: Session, pool: ConnectionPool): Perform {
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
    case 'live':
      throw new Error(`the kind ${request.kind} is not there yet`);
    default:
      return recordRequest(request, { mix, address: target, prepared: prepared as PreparedSpaces, pool });
  }
}
