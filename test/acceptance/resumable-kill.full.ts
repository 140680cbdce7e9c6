/** kill -9 of a gateway at a random byte of a tus upload: another one goes on, and nothing is there twice or left over. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { removeData, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import { seed, sized } from '../services/test-size.ts';
import { beginUpload, fileOf, filesAt, offsetAt, sendRest } from '../services/tus-client.ts';

/** Half on the file system and half on S3. A kill takes some six seconds: TEST_KILLS=200 tries more of them. */
const kills = Number(process.env.TEST_KILLS ?? 24);
const killsOfEach = kills / 2;
const killsOfARound = 2;
const length = 12 * 1024 * 1024 + 12_345;
const settings = {
  UPLOAD_PART_BYTES: String(5 * 1024 * 1024),
  JANITOR_STALE_AFTER_MS: '600000',
  JANITOR_GRACE_MS: '600000',
};

/** The same numbers in each run. */
let state = seed;
function random(limit: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return state % limit;
}

function bytesOf(round: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i += 4)
    bytes.writeUInt32LE(Math.imul(i + round, 2_654_435_761) >>> 0, Math.min(i, length - 4));
  return bytes;
}

/** Sends up to a byte, and kills the gateway there, perhaps before it has read it all. */
async function killAt(at: Sluice, path: string, bytes: Buffer, from: number, to: number): Promise<void> {
  const { hostname, port } = new URL(at.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  const head = [
    `PATCH ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${at.token}`,
    'Tus-Resumable: 1.0.0',
    `Upload-Offset: ${from}`,
    'Content-Type: application/offset+octet-stream',
    `Content-Length: ${length - from}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const piece = Math.ceil((to - from) / 8);
  for (let i = from; i < to; i += piece) {
    await new Promise<void>((resolve) => {
      socket.write(bytes.subarray(i, Math.min(i + piece, to)), () => resolve());
      socket.once('close', resolve);
    });
    // what is stored counts a second later
    await sleep(random(500));
  }
  await at.kill();
  socket.destroy();
}

/** One upload, with some kills. @param next answers the gateway that goes on */
async function round(
  t: Test,
  index: number,
  {
    first,
    next,
    digest = false,
  }: { first: Sluice; next: (killed: Sluice) => Promise<Sluice>; digest?: boolean },
): Promise<Sluice> {
  const bytes = bytesOf(index);
  let at = first;
  const path = await beginUpload(at, length);
  let offset = 0;
  for (let kill = 0; kill < killsOfARound; kill++) {
    const to = offset + 1 + random(length - offset);
    await killAt(at, path, bytes, offset, to);
    at = await next(at);
    const found = await offsetAt(at, path);
    t.ok(found >= offset && found <= to, `round ${index}: ${found} of ${offset} to ${to}`);
    offset = found;
    if (offset === length) break;
  }
  t.equal(await sendRest(at, path, bytes, { from: offset, chunk: 1 + random(length) }), 204);
  t.equal(await offsetAt(at, path), length);
  const { s3Link, sha256 } = await fileOf(at, path);
  const download = await fetch(at.baseUrl + new URL(s3Link).pathname);
  t.equal(crc32(Buffer.from(await download.arrayBuffer())), crc32(bytes), `round ${index}: the bytes`);
  if (digest) t.equal(sha256, createHash('sha256').update(bytes).digest('hex'), `round ${index}: the digest`);
  return at;
}

t.test('on the file system, the same gateway again', { timeout: 1_800_000 }, async (t) => {
  const rounds = sized(killsOfEach / killsOfARound, 2);
  let at = await startSluice({ env: settings });
  const { dataDir } = at;
  for (let i = 0; i < rounds; i++) at = await round(t, i, { first: at, next: (killed) => killed.restart() });
  t.equal((await filesAt(at)).length, rounds, 'a row for each');
  const left = await readdir(join(dataDir, 'files/unfinished'));
  const states = (await readdir(join(dataDir, 'files/objects'), { recursive: true })).filter((name) =>
    /_resumable.*_file/.test(name),
  );
  t.strictSame([left, states], [[], []], 'nothing is left');
  await at.stop();
  await removeData(at);
});

/** Without Redis gateways do not know of each other. */
async function onS3(t: Test, rounds: number, redis: RedisServer | null): Promise<void> {
  const clickhouse = await startClickhouse({ user: 'sluice', password: 'a-password-of-a-test' });
  const stub = await startS3Stub();
  const env = {
    ...settings,
    ...stubSettings(stub),
    CLICKHOUSE_URL: clickhouse.url,
    CLICKHOUSE_USER: 'sluice',
    CLICKHOUSE_PASSWORD: 'a-password-of-a-test',
    ...(redis && { REDIS_URL: redis.url, DIGEST: 'sha-256' }),
  };
  const start = () => startSluice({ script: 'gateway/main.ts', env });
  const [one, two] = [await start(), await start()];
  let spare = Promise.resolve(two);
  let at = one;
  const next = async (killed: Sluice): Promise<Sluice> => {
    const other = await spare;
    spare = start();
    await removeData(killed);
    return other;
  };
  for (let i = 0; i < rounds; i++) at = await round(t, i, { first: at, next, digest: redis !== null });
  t.equal((await filesAt(at)).length, rounds, 'a row for each');
  t.equal(
    stub.objects().filter(({ key }) => !key.includes('/_resumable/')).length,
    rounds,
    'an object for each',
  );
  // what a kill cut off from its upload: a remainder, or a multipart upload that nobody knew of
  const cleaner = await startSluice({
    script: 'gateway/main.ts',
    env: { ...env, JANITOR_STALE_AFTER_MS: '1000' },
  });
  await sleep(1100);
  const janitor = await runToEnd('cli/janitor.ts', [], { ...env, DATA_DIR: cleaner.dataDir });
  t.match(JSON.parse(janitor.stdout || '{}'), { failures: 0 }, janitor.stderr);
  t.strictSame(stub.openUploads(), [], 'no multipart upload is left');
  t.equal(stub.objects().length, rounds, 'no remainder and no state is left');
  for (const sluice of [at, cleaner, await spare]) {
    await sluice.stop();
    await removeData(sluice);
  }
  await stub.close();
  await clickhouse.close();
}

const roundsOfEach = sized(killsOfEach / killsOfARound, 2) / 2;

t.test('on S3, another gateway', { timeout: 1_800_000 }, (t) => onS3(t, roundsOfEach, null));

t.test('on S3, another gateway, by leases and with digests', { timeout: 1_800_000 }, async (t) => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  await onS3(t, roundsOfEach, redis);
});
