import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { freePorts } from './free-port.ts';
import { installPython } from './python-packages.ts';
import { sdkClient } from './s3-sdk-client.ts';
import type { S3Server } from './start-s3-server.ts';
import { watchChild } from './watch-child.ts';

/**
 * S3 servers that no suite starts, for test/s3-servers/direct-matrix.ts: on free ports of loopback, over folders of their
 * own. The first start downloads them. They end with this process.
 */
const run = promisify(execFile);
const cache = join(import.meta.dirname, '../../node_modules/.cache');
const keys = { accessKeyId: 'SLUICETESTACCESSKEY1', secretAccessKey: 'sluice-test-secret-access-key-0001' };
const bucket = 'sluice-test';
const region = 'us-east-1';

export const versions = { moto: '5.2.5', rclone: 'v1.76.0', s3proxy: '4.0.0', s3mock: '5.2.0' };

/** The program and its arguments, for a port and a folder. */
type Start = (
  port: number,
  folder: string,
) => Promise<{
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}>;

/** A mock: it checks neither signatures nor digests. Needs Python 3 with pip. */
export const startMoto = (): Promise<S3Server> =>
  start('moto', async (port) => {
    const path = await installPython([`moto[server]==${versions.moto}`]);
    if (path === null) throw new Error('moto needs python3 with pip');
    const args = ['-m', 'moto.server', '-H', '127.0.0.1', '-p', `${port}`];
    return { program: 'python3', args, env: { PYTHONPATH: path } };
  });

/** Compiled by Go, which takes some minutes. */
export const startRclone = (): Promise<S3Server> =>
  start('rclone', async (port, folder) => {
    const home = join(cache, `rclone-${versions.rclone}`);
    const program = join(home, 'rclone');
    const installing = ['install', `github.com/rclone/rclone@${versions.rclone}`];
    if (!(await stat(program).catch(() => null)))
      await run('go', installing, { env: { ...process.env, GOBIN: home } });
    const { accessKeyId, secretAccessKey } = keys;
    const authKey = `${accessKeyId},${secretAccessKey}`;
    const args = ['serve', 's3', '--addr', `127.0.0.1:${port}`, '--auth-key', authKey, folder];
    return { program, args };
  });

/** Needs Java 17 and Maven. */
export const startS3proxy = (): Promise<S3Server> =>
  start('s3proxy', async (port, folder) => {
    const jar = await installJar('org.gaul:s3proxy', versions.s3proxy, 'jar-with-dependencies');
    const settings = {
      's3proxy.authorization': 'aws-v2-or-v4',
      's3proxy.endpoint': `http://127.0.0.1:${port}`,
      's3proxy.identity': keys.accessKeyId,
      's3proxy.credential': keys.secretAccessKey,
      'jclouds.provider': 'filesystem-nio2',
      'jclouds.filesystem.basedir': join(folder, 'files'),
    };
    const file = join(folder, 's3proxy.conf');
    await mkdir(join(folder, 'files'));
    await writeFile(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    return { program: 'java', args: ['-jar', jar, '--properties', file] };
  });

/** A mock: it checks no signatures. Needs Java 17 and Maven. */
export const startS3mock = (): Promise<S3Server> =>
  start('s3mock', async (port) => {
    const jar = await installJar('com.adobe.testing:s3mock', versions.s3mock, 'exec');
    return { program: 'java', args: ['-jar', jar, '--server.port=0', `--http.port=${port}`] };
  });

async function start(name: keyof typeof versions, prepare: Start): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), `${name}-`));
  const port = await freePorts(1);
  const { program, args, env = {} } = await prepare(port, folder);
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const { end, untilReady } = watchChild(child, name);
  const stop = async (): Promise<void> => {
    await end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  };
  const endpoint = `http://127.0.0.1:${port}`;
  const client = sdkClient({ endpoint, region, ...keys });
  try {
    await untilReady(async () => {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return true;
    });
  } catch (error) {
    await stop();
    throw error;
  } finally {
    client.destroy();
  }
  return {
    env: {
      S3_ENDPOINT: endpoint,
      S3_BUCKET: bucket,
      S3_REGION: region,
      S3_ACCESS_KEY_ID: keys.accessKeyId,
      S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
    },
    stop,
  };
}

/** The path of a jar, which Maven downloads where it is not there yet. */
async function installJar(artifact: string, version: string, classifier: string): Promise<string> {
  const folder = join(cache, `${artifact.split(':')[1]}-${version}`);
  const jar = join(folder, `${artifact.split(':')[1]}-${version}-${classifier}.jar`);
  if (await stat(jar).catch(() => null)) return jar;
  const copied = [`-Dartifact=${artifact}:${version}:jar:${classifier}`, `-DoutputDirectory=${folder}`];
  await run('mvn', ['-q', '-B', 'dependency:copy', ...copied]);
  return jar;
}
