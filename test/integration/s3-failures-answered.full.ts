/**
 * Whatever fails at S3 is a 4xx, or a 503 that says when to try again: each kind of failure, at each kind of request to S3,
 * of each kind of request to the gateway. Nothing is stored by half, and the next try succeeds.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import type { S3Timing } from '#objects/s3/s3-options.ts';
import { DirectClient } from '../services/direct-client.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import type { FaultAction } from '../services/s3-stub/fault-rules.ts';
import type { OperationName } from '../services/s3-stub/operations.ts';
import { silentLog } from '../services/silent-log.ts';
import { openStubStore, storeOn, stubPartBytes } from '../services/stub-store.ts';
import { filesInMemory } from '../services/test-gateway.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { untilEmpty } from '../services/until-empty.ts';

const small = randomBytes(1000);
/** Of several parts, where the gateway receives it. */
const large = randomBytes(3 * stubPartBytes + 77);
const day = 86_400_000;
/** It gives up soon: what it answers is looked at. Milliseconds. */
const impatient: Partial<S3Timing> = {
  request: 100,
  quiet: 60,
  connect: 60,
  settle: 10,
  cleanup: 2000,
  firstPause: 10,
  longestPause: 30,
};

const refusal = (status: number, code: string): FaultAction => ({ kind: 'error', status, code });
const failures: readonly FaultAction[] = [
  refusal(400, 'InvalidRequest'),
  refusal(400, 'RequestTimeout'),
  refusal(403, 'AccessDenied'),
  refusal(403, 'RequestTimeTooSkewed'),
  refusal(404, 'NoSuchUpload'),
  refusal(409, 'OperationAborted'),
  refusal(412, 'PreconditionFailed'),
  refusal(416, 'InvalidRange'),
  refusal(501, 'NotImplemented'),
  refusal(503, 'SlowDown'),
  { kind: 'error', status: 500, code: 'InternalError', stage: 'after-work' },
  { kind: 'reset', stage: 'before-body' },
  { kind: 'reset', stage: 'after-work' },
  { kind: 'close' },
  { kind: 'truncate' },
  { kind: 'truncate', bytes: 0 },
  { kind: 'hang' },
];
/** Of operations that answer with a document. */
const failuresOfDocuments: readonly FaultAction[] = [
  { kind: 'error-in-ok', code: 'InternalError' },
  { kind: 'error-in-ok', code: 'AccessDenied' },
  { kind: 'cut' },
];
const documents: readonly string[] = ['CreateMultipartUpload', 'ListParts', 'CompleteMultipartUpload'];
/** What is asked for twice is gone. */
const removals: readonly string[] = ['the end of a plan', 'a deletion'];

/** A request to a gateway. */
type Ask = (baseUrl: string) => Promise<Response>;

const form = (content: Uint8Array): RequestInit => {
  const body = new FormData();
  body.set('file', new Blob([content]), 'f.bin');
  return { method: 'POST', body };
};
const tus = { 'tus-resumable': '1.0.0' };

/** Each makes what its request needs, at a gateway that waits for S3. */
const requests: Readonly<Record<string, (patient: string) => Promise<Ask>>> = {
  'a plan': async () => (baseUrl) =>
    fetch(`${baseUrl}/_f_/demo/direct`, {
      method: 'POST',
      body: JSON.stringify({ name: 'f.bin', size: small.length }),
      headers: { 'content-type': 'application/json' },
    }),
  'the state of a plan': async (patient) => {
    const plan = await sentPlan(patient);
    return (baseUrl) => fetch(`${baseUrl}${plan}?uploaded=true`);
  },
  'a completion': async (patient) => {
    const plan = await sentPlan(patient);
    return (baseUrl) => fetch(`${baseUrl}${plan}/complete?verify=bytes`, { method: 'POST' });
  },
  'the end of a plan': async (patient) => {
    const plan = await sentPlan(patient);
    return (baseUrl) => fetch(baseUrl + plan, { method: 'DELETE' });
  },
  'a small upload': async () => (baseUrl) => fetch(`${baseUrl}/_f_/demo/upload`, form(small)),
  'a large upload': async () => (baseUrl) => fetch(`${baseUrl}/_f_/demo/upload`, form(large)),
  'a resumable upload': async () => (baseUrl) =>
    fetch(`${baseUrl}/_f_/demo/resumable`, {
      method: 'POST',
      body: large,
      headers: {
        ...tus,
        'upload-length': `${large.length}`,
        'content-type': 'application/offset+octet-stream',
      },
    }),
  'the offset of a resumable upload': async (patient) => {
    const path = await begunUpload(patient);
    return (baseUrl) => fetch(baseUrl + path, { method: 'HEAD', headers: tus });
  },
  'a download': async (patient) => {
    const path = await storedFile(patient);
    return (baseUrl) => fetch(baseUrl + path);
  },
  'a range': async (patient) => {
    const path = await storedFile(patient);
    return (baseUrl) => fetch(baseUrl + path, { headers: { range: 'bytes=10-19' } });
  },
  'a deletion': async (patient) => {
    const path = await storedFile(patient);
    return (baseUrl) => fetch(baseUrl + path, { method: 'DELETE' });
  },
};

/** @returns the path of a plan whose part has been sent */
async function sentPlan(baseUrl: string): Promise<string> {
  const client = new DirectClient(baseUrl);
  const plan = await client.plan({ name: `${randomUUID()}.txt`, size: small.length });
  await client.send(plan, small);
  return plan.location;
}

async function storedFile(baseUrl: string): Promise<string> {
  const answer = await fetch(`${baseUrl}/_f_/demo/upload`, form(small));
  const { name } = (await answer.json()) as { name: string };
  return `/_f_/demo/${name}`;
}

async function begunUpload(baseUrl: string): Promise<string> {
  const answer = await fetch(`${baseUrl}/_f_/demo/resumable`, {
    method: 'POST',
    headers: { ...tus, 'upload-length': '10' },
  });
  return answer.headers.get('location') as string;
}

async function setUp(t: Test) {
  const { stub, store } = await openStubStore(t, {
    // one part is a multipart upload, too
    stub: { minPartBytes: stubPartBytes, md5Etags: true, ignores: ['if-none-match'] },
    deploymentId: testDeployment,
  });
  const hasty = storeOn(t, stub, { deploymentId: testDeployment, timing: impatient, log: silentLog() });
  const rows = filesInMemory();
  const options = { rows, expireAfter: day, largestPart: 1024 * 1024 };
  const patient = await serveGatewayOn(t, store, options);
  const tested = await serveGatewayOn(t, hasty, options);
  // what a store enforces is asked once
  await hasty.direct?.abilities(AbortSignal.timeout(10_000));
  await store.direct?.abilities(AbortSignal.timeout(10_000));
  /** What is left of failures once the janitor has run: objects that are no files, and parts of nothing. */
  const left = async (): Promise<readonly string[]> => {
    await Promise.all([patient.plans.settle(), tested.plans.settle()]);
    stub.age(2 * day);
    const janitor = testJanitor({
      store,
      cloudFiles: patient.cloudFiles,
      plans: patient.plans,
      staleAfter: day,
      grace: 0,
    });
    for (let run = 0; run < 2; run++) await janitor.run({ dryRun: false });
    const files = new Set([...rows.rows.values()].map(({ objectKey }) => objectKey));
    const objects = stub.objects().map(({ key }) => key);
    return [
      ...objects.filter((key) => !files.has(key) && !key.includes('/_')),
      ...stub.openUploads().map(({ key }) => `parts of ${key}`),
    ];
  };
  return { stub, rows: rows.rows, patient: patient.baseUrl, tested: tested.baseUrl, left };
}

/** What a client saw. */
interface Outcome {
  readonly status: number;
  /** Absent: it is a good answer. */
  readonly code?: string;
  readonly retryAfter: string | null;
}

async function outcomeOf(ask: Ask, baseUrl: string): Promise<Outcome | null> {
  try {
    const { status, headers, ok, body } = await ask(baseUrl);
    const text = await new Response(body).text();
    const retryAfter = headers.get('retry-after');
    return { status, retryAfter, ...(ok || text === '' ? {} : { code: JSON.parse(text).code }) };
  } catch {
    // the connection was cut: a download that had begun
    return null;
  }
}

/** What is wrong with the answer to a request that met a failure, and with the next try; null: nothing. */
function problemOf(
  what: string,
  action: FaultAction,
  { answer, again, files }: { answer: Outcome | null; again: Outcome | null; files: number },
): string | null {
  const isCut = answer === null && action.kind === 'truncate' && ['a download', 'a range'].includes(what);
  const status = answer?.status ?? 0;
  const isFit = isCut || status < 400 ? status !== 0 || isCut : status < 500 || status === 503;
  if (!isFit || (status === 503 && answer?.retryAfter === null)) return `answered ${JSON.stringify(answer)}`;
  if (status >= 400 && files > 0) return `${status}, and a file`;
  const mayBeGone = removals.includes(what) || ('status' in action && action.status === 404);
  const isDone = again !== null && (again.status < 400 || (mayBeGone && again.status === 404));
  return isDone ? null : `${status}, and the next try ${JSON.stringify(again)}`;
}

/** Sends the request once for each failure. */
async function failuresOf(t: Test, what: string, prepare: (patient: string) => Promise<Ask>) {
  const { stub, rows, patient, tested, left } = await setUp(t);
  const first = await prepare(patient);
  const before = stub.requests.length;
  const { status } = (await outcomeOf(first, patient)) ?? { status: 0 };
  t.ok(status >= 200 && status < 300, `${what}: ${status} without a failure`);
  const operations = new Set(stub.requests.slice(before).map(({ operation }) => operation as OperationName));
  const problems: string[] = [];
  let struck = 0;
  for (const operation of operations) {
    const actions = documents.includes(operation) ? [...failures, ...failuresOfDocuments] : failures;
    for (const action of actions) {
      const ask = await prepare(patient);
      const files = rows.size;
      const fault = stub.fault({ operation, action });
      const answer = await outcomeOf(ask, tested);
      fault.remove();
      struck += Math.min(1, fault.hits);
      const made = rows.size - files;
      const again = await outcomeOf(ask, patient);
      const problem = problemOf(what, action, { answer, again, files: made });
      if (problem !== null) problems.push(`${what}, ${operation} ${JSON.stringify(action)}: ${problem}`);
    }
  }
  for (const key of await untilEmpty(left)) problems.push(`${what} left ${key}`);
  return { struck, problems };
}

t.test('no failure of S3 is a 500', { timeout: 240_000 }, async (t) => {
  const all = await Promise.all(
    Object.entries(requests).map(([what, prepare]) => failuresOf(t, what, prepare)),
  );
  const struck = all.reduce((sum, one) => sum + one.struck, 0);
  t.ok(struck > 300, `${struck} failures struck`);
  t.strictSame(
    all.flatMap(({ problems }) => problems),
    [],
  );
});
