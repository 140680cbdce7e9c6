import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { startS3Stub } from '../../test/services/s3-stub/start-s3-stub.ts';
import { runScript } from '../../test/services/start-sluice.ts';
import { mebibyte } from '../upload/harness/bytes.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';

/**
 * `node --import tsx bench/transfer/memory.ts [MIB] [FILES]`: how much memory `sluice export --to` and `import --from` gain
 * while they stream large files (docs/decisions/080-backups-in-a-bucket.md). The server and the bucket are ours.
 */
const [mib = 2048, files = 1] = process.argv.slice(2).map(Number);
const bytes = mib * mebibyte;
const block = Buffer.alloc(mebibyte, 'some bytes, ');
const token = 'token';

function listed(): object[] {
  return Array.from({ length: files }, (_, number) => ({
    name: `file-${number}`,
    originalName: 'file',
    contentType: 'text/plain',
    size: bytes,
    createdAt: '2026-01-01T00:00:00.000Z',
  }));
}

const answers: Readonly<Record<string, unknown>> = {
  'GET /_projects_': { projects: [{ slug: 'p' }], next: null },
  'GET /_projects_/p/spaces': { spaces: [], next: null },
  'GET /_f_/p': { files: listed(), next: null },
  'GET /_jobs_': { jobs: [], next: null },
};

const server = createServer({ requestTimeout: 0 }, async (request, response) => {
  const path = request.url?.split('?')[0] ?? '';
  const answer = answers[`${request.method} ${path}`];
  if (request.method === 'GET' && /^\/_f_\/p\/file-/.test(path)) return sendFile(response);
  if (request.method === 'PUT') await finished(request.resume());
  if (request.method === 'PUT') return response.end('{}');
  response.statusCode = answer === undefined ? 404 : 200;
  response.end(JSON.stringify(answer ?? { code: 'not_found', message: 'not found' }));
});

function sendFile(response: ServerResponse): void {
  const blocks = Readable.from(Array.from({ length: mib }, () => block));
  response.setHeader('content-length', bytes);
  pipeline(blocks, response).catch(() => {});
}

async function memoryOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024) / mebibyte;
}

/** Runs a command, and prints what it gained since it was started and had sent its first bytes. */
async function measure(script: string, args: readonly string[], env: Record<string, string>): Promise<void> {
  const started = performance.now();
  const child = runScript(script, args, env);
  let said = '';
  child.stderr?.on('data', (text: Buffer) => {
    said += text.toString();
  });
  const before = stub.requests.length;
  let [first, most] = [0, 0];
  const timer = setInterval(async () => {
    const now = await memoryOf(child.pid);
    // the first request follows when all modules are loaded
    if (first === 0 && stub.requests.length > before) first = now;
    most = Math.max(most, now);
  }, 20);
  const [status] = await once(child, 'close');
  clearInterval(timer);
  if (status !== 0) throw new Error(said);
  const seconds = (performance.now() - started) / 1000;
  const rate = ((mib * files) / seconds).toFixed(0);
  console.log(
    `${script}: ${first.toFixed(0)} MiB at its start, ${most.toFixed(0)} at most: +${(most - first).toFixed(0)} MiB; ${rate} MiB/s`,
  );
}

const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
const stub = await startS3Stub({ storage: { folder } });
await once(server.listen(0, '127.0.0.1'), 'listening');
try {
  const env = {
    SLUICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SLUICE_TOKEN: token,
    S3_ENDPOINT: stub.endpoint,
    S3_REGION: stub.region,
    S3_ACCESS_KEY_ID: stub.accessKeyId,
    S3_SECRET_ACCESS_KEY: stub.secretAccessKey,
  };
  console.log(machineLine(await describeMachine()));
  console.log(`files of ${mib} MiB: ${files}`);
  await measure('cli/export.ts', ['--to', `s3://${stub.bucket}/backup`], env);
  await measure('cli/import.ts', ['--from', `s3://${stub.bucket}/backup`], env);
} finally {
  server.close();
  await stub.close();
  await rm(folder, { recursive: true, force: true });
}
