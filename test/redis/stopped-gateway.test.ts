/** A gateway that stands still (SIGSTOP) loses its uploads to another one. When it goes on, it changes nothing of them. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { patternBytes } from '../integration/object-store-contract.ts';
import { startRedis } from '../services/redis.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, startSluice } from '../services/start-sluice.ts';
import { beginUpload, fileOf, filesAt, offsetAt, sendRest } from '../services/tus-client.ts';

const mebibyte = 1024 ** 2;
const bytes = Buffer.from(new Uint8Array(patternBytes(11 * mebibyte)));
/** A part and a remainder. */
const chunk = 6 * mebibyte;

const [clickhouse, redis, stub] = await Promise.all([startClickhouse(), startRedis(), startS3Stub()]);
const env = {
  ...stubSettings(stub),
  UPLOAD_PART_BYTES: String(5 * mebibyte),
  CLICKHOUSE_URL: clickhouse.url,
  CLICKHOUSE_DATABASE: 'stopped',
  REDIS_URL: redis.url,
};
const [one, two] = await Promise.all([
  startSluice({ script: 'gateway/main.ts', env }),
  startSluice({ script: 'gateway/main.ts', env }),
]);
t.teardown(async () => {
  await killAll([one, two]);
  await stub.close();
  await redis.stop();
  await clickhouse.close();
});

/** A PATCH whose body does not end. @returns its answer, or the error */
async function stalled(path: string): Promise<unknown> {
  const sent = request(one.baseUrl + path, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${one.token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-length': `${bytes.byteLength}`,
      'content-type': 'application/offset+octet-stream',
    },
  });
  sent.write(bytes.subarray(0, chunk));
  const [answer] = (await once(sent, 'response').catch((error: unknown) => [error])) as [unknown];
  return (answer as Partial<IncomingMessage>).statusCode ?? answer;
}

async function isStored(path: string): Promise<boolean> {
  const { s3Link } = await fileOf(two, path);
  const download = await fetch(two.baseUrl + new URL(s3Link).pathname);
  return Buffer.from(await download.arrayBuffer()).equals(bytes);
}

t.test('one that receives, and one that completes', async (t) => {
  const receiving = await beginUpload(one, bytes.byteLength, { fileName: 'receiving' });
  const received = stalled(receiving);
  const completing = await beginUpload(one, bytes.byteLength, { fileName: 'completing' });
  const fault = stub.fault({
    operation: 'CompleteMultipartUpload',
    key: /_completing$/,
    times: 1,
    action: { kind: 'delay', ms: 2000 },
  });
  const completed = sendRest(one, completing, bytes, { chunk });
  while (fault.hits === 0) await sleep(20);
  one.process.kill('SIGSTOP');

  for (const path of [receiving, completing]) {
    const from = await offsetAt(two, path);
    t.ok(from >= 0, `${from} bytes`);
    t.equal(await sendRest(two, path, bytes, { from, chunk }), 204);
  }
  const files = await filesAt(two);
  t.equal(files.length, 2);

  one.process.kill('SIGCONT');
  t.equal(await received, 409);
  t.comment(`the one that completed was answered ${await completed}`);
  t.strictSame(await filesAt(two), files);
  for (const path of [receiving, completing]) {
    t.equal(await offsetAt(one, path), bytes.byteLength);
    t.ok(await isStored(path));
  }
  // bytes that only the stopped one knew of are the janitor's
  const states = stub.objects().filter(({ key }) => /\/_resumable\/.*(receiving|completing)$/.test(key));
  t.strictSame(states, []);
});

t.test('one that is about to save what it received', async (t) => {
  const path = await beginUpload(one, bytes.byteLength, { fileName: 'saving' });
  const remainder = { operation: 'PutObject', key: /_saving!\d+$/, times: 1 } as const;
  const fault = stub.fault({ ...remainder, action: { kind: 'delay', ms: 500 } });
  const late = sendRest(one, path, bytes.subarray(0, chunk), { chunk });
  while (fault.hits === 0) await sleep(5);
  // it asks for its lease, and gets the answer when it goes on
  redis.pause();
  await sleep(1000);
  one.process.kill('SIGSTOP');
  redis.resume();
  await sleep(300);

  t.equal(await offsetAt(two, path), 0);
  const some = chunk + 2 * mebibyte;
  t.equal(await sendRest(two, path, bytes.subarray(0, some), { chunk }), 204);
  one.process.kill('SIGCONT');
  t.comment(`it answered ${await late}`);
  t.equal(await offsetAt(two, path), some, 'what was acknowledged counts');
  t.equal(await sendRest(two, path, bytes, { from: some, chunk }), 204);
  t.ok(await isStored(path));
});
