/** The configuration that docker-compose.yml mounts, read by a real redis-server: each of its lines is one that it takes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import t from 'tap';
import { readConfig } from '../../common/kernel/config/read-config.ts';
import { makeKeys } from '../../deploy/compose/init/make-keys.ts';
import { freePorts } from '../services/free-port.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

t.test('it asks for the password that the processes have, keeps no disk, and has a limit', async (t) => {
  const folder = await temporaryFolder(t);
  await makeKeys({ folder, host: 'localhost', bucket: 'files' });
  const port = await freePorts(1);
  const mounted = await readFile(
    join(import.meta.dirname, '../../deploy/compose/valkey/valkey.conf'),
    'utf8',
  );
  const file = join(folder, 'valkey.conf');
  const own = mounted.replace('/keys/', `${folder}/valkey/`);
  t.not(own, mounted);
  await writeFile(file, `${own}\nport ${port}\nbind 127.0.0.1\ndir ${folder}\n`);
  const server = spawn('redis-server', [file], { stdio: 'ignore' });
  const exited = once(server, 'exit');
  t.teardown(async () => {
    server.kill('SIGKILL');
    await exited;
  });

  const keys = await readFile(join(folder, 'sluice/sluice.env'), 'utf8');
  const { redis } = readConfig({ REDIS_URL: /^REDIS_URL=(.*)$/m.exec(keys)?.[1] });
  const connect = async (password: string | undefined): Promise<Redis> => {
    const client = new Redis({
      host: '127.0.0.1',
      port,
      lazyConnect: true,
      enableReadyCheck: false,
      retryStrategy: () => null,
      ...(password !== undefined && { password }),
    }).on('error', () => {});
    await client.connect();
    return client;
  };
  let client: Redis | null = null;
  for (let tries = 0; client === null; tries++) {
    client = await connect(redis?.password).catch(() => null);
    if (client === null && tries === 100) throw new Error('redis-server does not answer');
    if (client === null) await sleep(50);
  }
  const setting = async (name: string): Promise<unknown> =>
    ((await client.config('GET', name)) as unknown[]).at(1);
  t.equal(await client.ping(), 'PONG');
  t.equal(await setting('maxmemory-policy'), 'volatile-ttl');
  t.equal(await setting('maxmemory'), `${384 * 1024 * 1024}`);
  t.equal(await setting('save'), '');
  t.equal(await setting('appendonly'), 'no');
  client.disconnect();

  const stranger = connectSocket(port, '127.0.0.1');
  stranger.write('PING\r\n');
  const [answer] = (await once(stranger, 'data')) as [Buffer];
  t.match(answer.toString(), /^-NOAUTH /);
  stranger.destroy();
});
