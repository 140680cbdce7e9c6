/** A clock that is minutes off: S3 takes our own requests, but addresses would be good too early, or end too soon. */
import t from 'tap';
import { createS3Presigner } from '#objects/s3/s3-presigner.ts';
import { createS3Sender } from '#objects/s3/s3-sender.ts';

const minute = 60_000;
const base = new URL('http://bucket.test');
const address = {
  base,
  signingRegion: 'us-east-1',
  path: (key: string) => `/${key}`,
  url: (key: string) => `${base.origin}/${key}`,
};

/** @param off how far the clock of the server is ahead of ours. Milliseconds */
function clientOf(off: number) {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const config = { credentials: async () => credentials, systemClockOffset: 0 };
  const client = { config } as unknown as Parameters<typeof createS3Sender>[0]['client'];
  const date = () => new Date(Date.now() + off).toUTCString();
  const answer = { status: 200, reason: 'OK', text: '' };
  const pool = { exchange: async () => ({ ...answer, headers: new Map([['date', date()]]) }) };
  const parts = { client, address, timing: { quiet: 1000, request: 1000 } };
  const send = createS3Sender({
    ...parts,
    pool: pool as unknown as Parameters<typeof createS3Sender>[0]['pool'],
  });
  return { send, presign: createS3Presigner(parts) };
}

const attempt = { signal: new AbortController().signal, stopped: false } as unknown as Parameters<
  ReturnType<typeof createS3Sender>
>[1];

for (const [off, corrected] of [
  [10 * minute, true],
  [-10 * minute, true],
  [2000, false],
] as const)
  t.test(`the server's clock is ${off / 1000} s ahead`, async (t) => {
    const { send, presign } = clientOf(off);
    await send({ operation: 'HeadObject', method: 'HEAD', key: 'k' }, attempt);
    const request = { method: 'PUT', key: 'k', query: {}, headers: {}, lifetime: 900 } as const;
    const { url } = await presign(request, attempt.signal);
    const signed = new URL(url).searchParams.get('X-Amz-Date') ?? '';
    const time = Date.parse(signed.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'));
    const difference = time - Date.now();
    t.ok(Math.abs(difference - (corrected ? off : 0)) < minute / 2, `signed ${difference} ms ahead`);
  });
