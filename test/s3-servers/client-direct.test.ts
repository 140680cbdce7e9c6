import t from 'tap';
import { upload } from '#client/upload.ts';
import { clientOf, cuttingProxy, sha256, sluiceWithDigests } from '../services/client-files.ts';
import { bytes, chosen, directClientSuite, partBytes, read } from '../services/direct-client-suite.ts';
import { testedS3 } from '../services/tested-s3.ts';

t.test('direct uploads of sluice-client to a real S3 server', async (t) => {
  const { S3_ENDPOINT = '' } = testedS3;
  // Versity's server takes the bytes before a FIN for the whole part
  const cuts = { cuts: 3, after: (id: number) => id * 1_300_000, kind: 'fin' } as const;
  const proxy = await cuttingProxy(t, { baseUrl: S3_ENDPOINT }, cuts);
  const env = { ...testedS3, S3_PUBLIC_ENDPOINT: proxy.url, DIGEST: 'none' };
  const sluice = await sluiceWithDigests(t, env);
  const client = clientOf(sluice);
  await directClientSuite(t, sluice, client);
  t.ok(proxy.cut() > 0);

  const puts: string[] = [];
  const lossy: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    if (init?.method !== 'PUT') return answer;
    puts.push(`${input}`);
    // its answer is lost
    if (puts.length === 1) throw new TypeError('cut');
    return answer;
  };
  for (const options of [{ partBytes }, { partBytes: 2 ** 26, direct: true }]) {
    puts.length = 0;
    const file = await upload({ ...client, fetch: lossy }, chosen(), options);
    t.equal(await read(sluice, file), sha256(bytes));
    t.ok(puts.every((url) => url.startsWith(proxy.url)));
  }
});
