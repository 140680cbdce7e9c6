import type { StoredFiles } from '../files/file-session.ts';
import { ConnectionPool } from '../http/connection-pool.ts';
import { verifyStored } from '../verify/verify-stored.ts';
import { OtherFiles, withFiles } from './other-files.ts';
import { parseRecords } from './parse/parse-records.ts';
import {
  asMaster,
  type PreparedClasses,
  parseAddress,
  prepareClasses,
  removeClasses,
} from './parse/prepare-classes.ts';
import { classReader } from './parse/read-class.ts';
import { uploadParseFile } from './parse/upload-parse-file.ts';
import { performerOf } from './performer-of.ts';
import { plainRequest } from './plain-requests.ts';
import { recordPerformer } from './records/record-performer.ts';
import type { Preparation, TargetAddress, TargetKind } from './target.ts';

interface Prepared extends PreparedClasses {
  readonly files: StoredFiles;
}

/**
 * Parse Server (https://docs.parseplatform.org/rest/guide/). Its credential is `appId:masterKey`, by which classes and a user
 * are made; the load is sent with that user's session.
 */
export const parse: TargetKind = {
  refuses: ({ kind, name }) =>
    kind === 'live' ? `the request ${name} is live, and only a target of kind sluice has live finds` : null,
  async prepare(work): Promise<Prepared> {
    const classes = await prepareClasses(work);
    const files = await withFiles(filesOf(work, classes), (open) => open.store(work));
    return { ...classes, files };
  },
  open(session) {
    const { mix, address } = session;
    const prepared = session.prepared as Prepared;
    const pool = new ConnectionPool(address.url);
    const open = filesOf(session, prepared, prepared.files);
    const { base, host } = parseAddress(address);
    const fields = userFields(address, prepared);
    const api = parseRecords(base, host + fields, prepared.ids);
    return performerOf(
      (request) => {
        switch (request.kind) {
          case 'request':
            return plainRequest(request, { pool, seed: mix.seed, url: new URL(address.url), fields });
          case 'upload':
          case 'download':
          case 'live':
            return open.performerOf(request);
          default:
            return recordPerformer(mix, request, api, pool);
        }
      },
      () => {
        pool.close();
        open.close();
      },
    );
  },
  verify: (work) =>
    asMaster(work, (calls, base) =>
      withFiles(filesOf(work, work.prepared as Prepared), (files) =>
        verifyStored(work, files.session, (space) => classReader(calls, base, space)),
      ),
    ),
  cleanUp: removeClasses,
};

function userFields(address: TargetAddress, { sessionToken }: PreparedClasses): string {
  return `${parseAddress(address).appFields}X-Parse-Session-Token: ${sessionToken}\r\n`;
}

function filesOf(
  work: Pick<Preparation, 'mix' | 'address'>,
  prepared: PreparedClasses,
  files: StoredFiles = {},
): OtherFiles {
  const { base } = parseAddress(work.address);
  const fields = userFields(work.address, prepared);
  return new OtherFiles({
    seed: work.mix.seed,
    address: work.address,
    files,
    upload: (exchange, file) => uploadParseFile(base, fields, exchange, file),
  });
}
