import { fork } from 'node:child_process';
import { once } from 'node:events';
import { GetObjectCommand, HeadObjectCommand, ListPartsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { Attempt } from '#kernel/limits/deadline.ts';
import { connectBucket } from '#objects/s3/connect-bucket.ts';
import { beginRequest, uploadIdIn } from '#objects/s3/s3-begin.ts';
import { listParts } from '#objects/s3/s3-list-parts.ts';
import { readWholeObject } from '#objects/s3/s3-read.ts';
import { headObject } from '#objects/s3/s3-requests.ts';
import { startS3Stub } from '../../test/services/s3-stub/start-s3-stub.ts';
import { describeMachine, machineLine } from './harness/machine.ts';

/**
 * `node --import tsx bench/upload/s3-requests.ts`: CPU time of small requests to S3 by our sender, and by the SDK with our
 * settings. The store is a stub in another process.
 */
const never = new AbortController().signal;
const key = 'owner/project/file.bin';
/** Requests of one measurement, and how many are under way. */
const requests = 4_000;
const atOnce = 16;
const rounds = 5;

async function measure(request: () => Promise<unknown>): Promise<number> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await request();
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: atOnce }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests / 1000;
}

async function main(): Promise<void> {
  const child = fork(import.meta.filename, ['stub'], { execArgv: process.execArgv });
  const [place] = (await once(child, 'message')) as [{ bucket: string; endpoint: string; region: string }];
  const credentials = {
    accessKeyId: 'STUBACCESSKEY0000001',
    secretAccessKey: 'stub-secret-access-key-0000000000000001',
  };
  const options = { ...place, credentials, forcePathStyle: true, log: { warn: () => {} } };
  const { context, close } = connectBucket(options);
  const { client, bucket } = context;
  const state = Buffer.alloc(600, 'x');
  const part = { chunks: [state], size: state.byteLength };
  const headers = { 'content-type': 'application/json' };
  const put = (query: Record<string, string> = {}) =>
    context.sendPart({ key, query, headers, part }, new Attempt());
  const begun = await context.send(beginRequest(key, headers), new Attempt());
  const uploadId = uploadIdIn(begun);
  for (const partNumber of ['1', '2', '3']) await put({ uploadId, partNumber });
  const at = { Bucket: bucket, Key: key };
  const cases: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
    ['PutObject of 600 bytes', () => put(), () => client.send(new PutObjectCommand({ ...at, Body: state }))],
    [
      'GetObject of 600 bytes',
      () => readWholeObject(context, key, 65_536, never),
      async () => (await client.send(new GetObjectCommand(at))).Body?.transformToByteArray(),
    ],
    ['HeadObject', () => headObject(context, key, never), () => client.send(new HeadObjectCommand(at))],
    [
      'ListParts of 3',
      () => listParts(context, { key, uploadId }, never),
      () => client.send(new ListPartsCommand({ ...at, UploadId: uploadId })),
    ],
  ];
  const median = (values: number[]): string =>
    (values.sort((a, b) => a - b)[values.length >> 1] ?? 0).toFixed(3);
  process.stdout.write(
    `${machineLine(await describeMachine())}\n\n| request | ours, ms of CPU | the SDK's |\n|---|---|---|\n`,
  );
  for (const [name, ours, sdk] of cases) {
    const [own, theirs]: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      const times = [await measure(ours), await measure(sdk)] as const;
      // the first round warms up
      if (round > 0) own.push(times[0]);
      if (round > 0) theirs.push(times[1]);
    }
    process.stdout.write(`| ${name} | ${median(own)} | ${median(theirs)} |\n`);
  }
  await close();
  child.kill();
}

if (process.argv[2] === 'stub') {
  const { bucket, endpoint, region } = await startS3Stub();
  process.send?.({ bucket, endpoint, region });
} else await main();
