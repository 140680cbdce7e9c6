import type { StoredFiles } from '../files/file-session.ts';
import { verifyStored } from '../verify/verify-stored.ts';
import { anyRequest, withoutLive } from './any-request.ts';
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
import type { Preparation, TargetAddress, TargetKind } from './target.ts';

interface Prepared extends PreparedClasses {
  readonly files: StoredFiles;
}

/**
 * Parse Server (https://docs.parseplatform.org/rest/guide/). Its credential is `appId:masterKey`, by which classes and a user
 * are made; the load is sent with that user's session.
 */
export const parse: TargetKind = {
  options: [],
  ...withoutLive,
  async prepare(work): Promise<Prepared> {
    const classes = await prepareClasses(work);
    const files = await withFiles(filesOf(work, classes), (open) => open.store(work));
    return { ...classes, files };
  },
  open(session) {
    const prepared = session.prepared as Prepared;
    const { base, host } = parseAddress(session.address);
    const fields = userFields(session.address, prepared);
    const api = parseRecords(base, host + fields, prepared.ids);
    return anyRequest(session, { api, fields, files: filesOf(session, prepared, prepared.files) });
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
