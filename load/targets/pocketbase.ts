import type { StoredFiles } from '../files/file-session.ts';
import { verifyStored } from '../verify/verify-stored.ts';
import { anyRequest, withoutLive } from './any-request.ts';
import { OtherFiles, withFiles } from './other-files.ts';
import { basePath, pocketbaseRecords } from './pocketbase/pocketbase-records.ts';
import { asSuperuser, prepareCollections, removeCollections } from './pocketbase/prepare-collections.ts';
import { collectionReader } from './pocketbase/read-collection.ts';
import { uploadToCollection } from './pocketbase/upload-to-collection.ts';
import type { Preparation, TargetKind } from './target.ts';

interface Prepared {
  /** Of the user that sends the load. */
  readonly token: string;
  readonly files: StoredFiles;
}

/**
 * PocketBase 0.23 or later (https://pocketbase.io/docs/api-records/). Its credential is `email:password` of a superuser, who
 * makes collections and a user; the load is sent with that user's token.
 */
export const pocketbase: TargetKind = {
  options: [],
  ...withoutLive,
  async prepare(work): Promise<Prepared> {
    const token = await prepareCollections(work);
    return { token, files: await withFiles(filesOf(work, token), (files) => files.store(work)) };
  },
  open(session) {
    const { token, files } = session.prepared as Prepared;
    const { address } = session;
    const fields = `Authorization: ${token}\r\n`;
    const api = pocketbaseRecords(basePath(address), `Host: ${new URL(address.url).host}\r\n${fields}`);
    return anyRequest(session, { api, fields, files: filesOf(session, token, files) });
  },
  verify(work) {
    const { token } = work.prepared as Prepared;
    return asSuperuser(work, (calls, base) =>
      withFiles(filesOf(work, token), (files) =>
        verifyStored(work, files.session, (space) => collectionReader(calls, base, space)),
      ),
    );
  },
  cleanUp: removeCollections,
};

function filesOf(
  work: Pick<Preparation, 'mix' | 'address'>,
  token: string,
  files: StoredFiles = {},
): OtherFiles {
  const base = basePath(work.address);
  return new OtherFiles({
    seed: work.mix.seed,
    address: work.address,
    token,
    files,
    upload: (exchange, file) => uploadToCollection(base, exchange, file),
  });
}
