/** kill -9 of a gateway at each step by which an upload ends: another one goes on, to one file, and nothing is left over. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { patternBytes } from '../integration/object-store-contract.ts';
import { startRedis } from '../services/redis.ts';
import type { FaultRule, FaultStage } from '../services/s3-stub/fault-rules.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { killAll, removeData, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import {
  beginUpload,
  fileOf,
  filesAt,
  joinUploads,
  offsetAt,
  sendRest,
  type UploadedFile,
} from '../services/tus-client.ts';

const mebibyte = 1024 ** 2;
const bytes = Buffer.from(new Uint8Array(patternBytes(11 * mebibyte)));
/** A part and a remainder. */
const chunk = 6 * mebibyte;
const small = 1000;

/** A call of the object store that never ends, before or after its work is done. */
type Step = Pick<FaultRule, 'operation' | 'after'> & { readonly at: 'object' | 'state' | 'part' };
const saving: Step = { operation: 'PutObject', at: 'state', after: 1 };
const completing: Step = { operation: 'CompleteMultipartUpload', at: 'object' };
const forgetting: Step = { operation: 'DeleteObject', at: 'state' };
/** By the names of files. Two kills each: before the work of the call, and after it. */
const steps: Readonly<Record<string, Step>> = {
  'saves-its-state': saving,
  'completes-the-object': completing,
  'removes-the-state': forgetting,
  'small-one': { operation: 'PutObject', at: 'object' },
  'join-reads-a-part': { operation: 'GetObject', at: 'part' },
  'join-completes-the-object': completing,
  'join-removes-the-state': forgetting,
  'join-drops-its-parts': { operation: 'DeleteObject', at: 'part' },
};
const digestStep: Step = { operation: 'GetObject', at: 'object' };
const stages: readonly FaultStage[] = ['before-body', 'after-work'];

function keyOf(name: string, at: Step['at']): RegExp {
  if (at === 'part') return new RegExp(`/_resumable/.*_${name}-part!0$`);
  return at === 'state'
    ? new RegExp(`/_resumable/.*_${name}$`)
    : new RegExp(`^((?!/_resumable/).)*_${name}$`);
}

/** An upload that a gateway can't end, and how its client gets the file at another one. */
interface Cut {
  readonly name: string;
  readonly content: Buffer<ArrayBuffer>;
  readonly getAt: (other: Sluice) => Promise<UploadedFile>;
}

async function cutUpload(at: Sluice, name: string): Promise<Cut> {
  const content = name.startsWith('small') ? bytes.subarray(0, small) : bytes;
  const path = await beginUpload(at, content.byteLength, { fileName: name });
  sendRest(at, path, content, { chunk }).catch(() => {});
  const getAt = async (other: Sluice) => {
    const from = await offsetAt(other, path);
    const status = await sendRest(other, path, content, { from, chunk });
    if (status !== 204) throw new Error(`${name}: ${status}, from ${from}`);
    return fileOf(other, path);
  };
  return { name, content, getAt };
}

async function cutJoin(at: Sluice, name: string): Promise<Cut> {
  const paths: string[] = [];
  for (let from = 0; from < bytes.byteLength; from += chunk) {
    const content = bytes.subarray(from, from + chunk);
    const path = await beginUpload(at, content.byteLength, { fileName: `${name}-part`, concat: 'partial' });
    await sendRest(at, path, content, { chunk });
    paths.push(path);
  }
  joinUploads(at, paths, name).catch(() => {});
  const getAt = async (other: Sluice) => {
    const answer = await joinUploads(other, paths, name);
    if (answer.status !== 201) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as UploadedFile;
  };
  return { name, content: bytes, getAt };
}

/** Brings an upload to each step. */
function cutAll(at: Sluice, stub: S3Stub, all: Readonly<Record<string, Step>>): Promise<Cut[]> {
  const pairs = Object.entries(all).flatMap(([step, rule]) => stages.map((stage) => ({ step, rule, stage })));
  return Promise.all(
    pairs.map(async ({ step, rule: { at: place, ...rule }, stage }) => {
      const name = `${step}-${stage}`;
      const fault = stub.fault({ ...rule, key: keyOf(name, place), action: { kind: 'hang', stage } });
      const cut = await (name.startsWith('join') ? cutJoin : cutUpload)(at, name);
      while (fault.hits === 0) await sleep(20);
      return cut;
    }),
  );
}

async function killAtEnds(t: Test, shared: Readonly<Record<string, string>>): Promise<void> {
  const clickhouse = await startFaultyClickhouse({ user: 'sluice', password: 'a-password-of-a-test' });
  const stub = await startS3Stub();
  const env = {
    ...stubSettings(stub),
    ...shared,
    UPLOAD_PART_BYTES: String(5 * mebibyte),
    CLICKHOUSE_URL: clickhouse.url,
    CLICKHOUSE_USER: 'sluice',
    CLICKHOUSE_PASSWORD: 'a-password-of-a-test',
    JANITOR_STALE_AFTER_MS: '600000',
    // nothing but the kill ends a call
    S3_REQUEST_TIMEOUT_MS: '600000',
  };
  const start = (more = {}) => startSluice({ script: 'gateway/main.ts', env: { ...env, ...more } });
  const [one, two] = await Promise.all([start(), start()]);
  // also after a failure: what stays would keep this process
  t.teardown(async () => {
    await killAll([one, two]);
    await stub.close();
    await clickhouse.close();
  });
  const digest = 'DIGEST' in shared;
  const cuts = await cutAll(one, stub, digest ? { ...steps, 'reads-it-for-the-digest': digestStep } : steps);
  clickhouse.fault({ match: 'INSERT INTO .*cloud_files', action: { kind: 'hold' } });
  cuts.push(await cutUpload(one, 'writes-its-row'));
  await clickhouse.untilHeld(1);
  await one.kill();
  stub.clearFaults();

  await Promise.all(
    cuts.map(async ({ name, content, getAt }) => {
      const { s3Link, sha256 } = await getAt(two);
      const download = await fetch(two.baseUrl + new URL(s3Link).pathname);
      t.ok(Buffer.from(await download.arrayBuffer()).equals(content), name);
      t.equal(sha256, digest ? createHash('sha256').update(content).digest('hex') : undefined, name);
    }),
  );
  // the row of the gateway that is dead comes after all
  clickhouse.clear();
  const cleaner = await start({ JANITOR_STALE_AFTER_MS: '1000' });
  await sleep(1100);
  const janitor = await runToEnd('cli/janitor.ts', [], { ...env, DATA_DIR: cleaner.dataDir });
  t.match(JSON.parse(janitor.stdout || '{}'), { failures: 0 }, janitor.stderr);
  t.equal((await filesAt(two)).length, cuts.length, 'a row for each');
  t.strictSame(stub.openUploads(), [], 'no multipart upload is left');
  t.equal(stub.objects().length, cuts.length, 'no remainder and no state is left');
  for (const sluice of [two, cleaner]) await sluice.stop();
  await removeData(cleaner);
}

t.test('gateways that do not know of each other', (t) => killAtEnds(t, {}));

t.test('gateways with leases, and digests', async (t) => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  await killAtEnds(t, { REDIS_URL: redis.url, DIGEST: 'sha-256' });
});
