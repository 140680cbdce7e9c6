import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { freePorts } from './free-port.ts';
import { installGo } from './install-go.ts';
import { sdkClient } from './s3-sdk-client.ts';
import type { S3Server } from './start-s3-server.ts';
import { watchChild } from './watch-child.ts';

const gateway = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';
const firstAnswer = 30_000;

/**
 * The S3 gateway of Versity over a folder, on a free port of loopback: it is as strict about checksums as MinIO was.
 * Compiled by Go the first time, which takes a minute and a half. Null where there is no Go. It ends with this process.
 */
export async function startVersity(): Promise<S3Server | null> {
  const program = await installGo('versitygw', gateway);
  if (program === null) return null;
  const folder = await mkdtemp(join(tmpdir(), 'versity-'));
  // metadata in files: not every file system of a temporary folder has extended attributes
  const [files, metadata] = [join(folder, 'files'), join(folder, 'metadata')] as const;
  await mkdir(files);
  await mkdir(metadata);
  const port = await freePorts(1);
  const place = { endpoint: `http://127.0.0.1:${port}`, bucket: 'sluice-test', region: 'us-east-1' };
  const keys = {
    accessKeyId: 'VERSITYACCESSKEY0001',
    secretAccessKey: 'versity-secret-access-key-00000000000001',
  };
  const server = spawn(
    program,
    ['--port', `127.0.0.1:${port}`, '--region', place.region, 'posix', '--sidecar', metadata, files],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey },
    },
  );
  const { end } = watchChild(server, 'versitygw');
  const stop = async (): Promise<void> => {
    await end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await makeBucket({ ...place, ...keys });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    env: {
      S3_ENDPOINT: place.endpoint,
      S3_BUCKET: place.bucket,
      S3_REGION: place.region,
      S3_ACCESS_KEY_ID: keys.accessKeyId,
      S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
    },
    stop,
  };
}

async function makeBucket(server: Parameters<typeof sdkClient>[0] & { bucket: string }): Promise<void> {
  const client = sdkClient(server);
  const deadline = performance.now() + firstAnswer;
  for (;;) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: server.bucket }));
      client.destroy();
      return;
    } catch (error) {
      // it does not listen yet
      if (performance.now() > deadline || (error as { code?: unknown }).code !== 'ECONNREFUSED') throw error;
      await sleep(50);
    }
  }
}
