/** The target `s3` of `sluice load`, against a real S3 server. */
import t from 'tap';
import { s3 } from '../../load/targets/s3.ts';
import { loadTarget } from '../services/load-target.ts';
import { testedPlace } from '../services/tested-s3.ts';

const { endpoint, bucket, region, credentials } = testedPlace();
const part = 5 * 1024 ** 2;
const sizes = [{ bytes: 1 }, { bytes: 100_000 }, { bytes: 2 * part + 1 }];

for (const signed of ['header', 'presigned']) {
  t.test(`files go up and come down, ${signed}`, async (t) => {
    const address = {
      url: endpoint,
      credential: `${credentials.accessKeyId}:${credentials.secretAccessKey}`,
      options: { bucket, region, part: `${part}`, signed },
    };
    const requests = [
      { kind: 'upload', sizes },
      { kind: 'download', sizes },
    ];
    const target = await loadTarget(t, s3, address, { seed: 11, requests });
    const stored = [];
    for (let number = 0; number < 8; number++) {
      const outcome = await target.perform('upload', number);
      t.match(outcome, { good: true, status: 200 });
      stored.push(outcome.stored);
      t.match(await target.perform('download', number), { good: true, status: 200 });
    }
    t.match(await target.verify(stored), { checked: 8, wrong: [] });
    await target.cleanUp();
    t.match(await target.verify(stored.slice(0, 1)), { wrong: [/is lost: 404 NoSuchKey/] });
  });
}
