import type { StoredFiles } from '../files/file-session.ts';
import { verifyStored } from '../verify/verify-stored.ts';
import { onlyFiles } from './only-files.ts';
import { OtherFiles, withFiles } from './other-files.ts';
import { performerOf } from './performer-of.ts';
import { BucketCalls } from './s3/bucket-calls.ts';
import { S3Place } from './s3/s3-place.ts';
import { uploadObject } from './s3/upload-object.ts';
import type { Preparation, TargetKind } from './target.ts';

/**
 * A bucket of any S3 server. Its credential is `accessKeyId:secretAccessKey`; its options are `bucket`, `region`, `part` (bytes)
 * and `signed` (`header` or `presigned`).
 */
export const s3: TargetKind = {
  options: ['bucket', 'region', 'part', 'signed'],
  ...onlyFiles('s3'),
  async prepare(work) {
    await withBucket(work, (calls) => calls.make());
    return await withFiles(filesOf(work, {}), (files) => files.store(work));
  },
  open(session) {
    const files = filesOf(session, session.prepared as StoredFiles);
    return performerOf(
      (request) => files.performerOf(request),
      () => files.close(),
    );
  },
  verify: (work) => withFiles(filesOf(work, {}), (files) => verifyStored(work, files.session, null)),
  cleanUp: (work) => withBucket(work, (calls) => calls.removeFiles()),
};

function filesOf(work: Pick<Preparation, 'mix' | 'address'>, files: StoredFiles): OtherFiles {
  const place = new S3Place(work.address);
  return new OtherFiles({
    seed: work.mix.seed,
    address: work.address,
    files,
    upload: (exchange, file) => uploadObject(place, exchange, file),
  });
}

async function withBucket(work: Preparation, run: (calls: BucketCalls) => Promise<void>): Promise<void> {
  const calls = new BucketCalls(work);
  try {
    await run(calls);
  } finally {
    calls.close();
  }
}
