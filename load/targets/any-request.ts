import { ConnectionPool } from '../http/connection-pool.ts';
import type { FileRequest } from '../mix/mix.ts';
import { type Perform, performerOf } from './performer-of.ts';
import { plainRequest } from './plain-requests.ts';
import { type RecordApi, recordPerformer } from './records/record-performer.ts';
import type { Performer, Session, TargetKind } from './target.ts';

interface AnyRequest {
  readonly api: RecordApi;
  /** Of records and plain requests. The performer closes it. */
  readonly pool?: ConnectionPool;
  /** Field lines of plain requests, each with its line end. */
  readonly fields: string;
  /** The performer closes it. */
  readonly files: { performerOf(request: FileRequest): Perform; close(): void };
}

/** Performs what a server with records and files can be asked; streams are opened by their phase. */
export function anyRequest(
  { mix, address }: Session,
  { api, fields, files, ...given }: AnyRequest,
): Performer {
  const { pool = new ConnectionPool(address.url) } = given;
  const plain = { pool, seed: mix.seed, url: new URL(address.url), fields };
  return performerOf(
    (request) => {
      switch (request.kind) {
        case 'request':
          return plainRequest(request, plain);
        case 'upload':
        case 'download':
          return files.performerOf(request);
        case 'live':
          throw new Error('streams are opened by their phase');
        default:
          return recordPerformer(mix, request, api, pool);
      }
    },
    () => {
      pool.close();
      files.close();
    },
  );
}

/** Of servers whose live finds the tool does not speak. */
export const withoutLive: Pick<TargetKind, 'refuses'> = {
  refuses: ({ kind, name }) =>
    kind === 'live' ? `the request ${name} is live, and only a target of kind sluice has live finds` : null,
};
