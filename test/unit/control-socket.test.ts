import { chmod, chown, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sendCommand, serveControlSocket } from '../../common/lifecycle/control-socket.ts';
import { silentLog } from '../services/silent-log.ts';

const commands = { echo: async (order: unknown) => JSON.stringify(order) };

/** A data directory whose path is too long for a socket, and a temporary directory of this test's own. */
async function setUp(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-socket-'));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  t.teardown(async () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await rm(folder, { recursive: true, force: true });
  });
  const dataDir = join(folder, 'd'.repeat(120));
  await mkdir(dataDir);
  const shared = join(folder, `sluice-${process.getuid?.()}`);
  const serve = () => serveControlSocket({ dataDir, commands, log: silentLog() });
  const send = () => sendCommand({ dataDir, command: 'echo', order: { a: 1 } });
  return { dataDir, shared, serve, send };
}

t.test('a long data directory has its socket in a folder of its user alone', async (t) => {
  const { shared, serve, send } = await setUp(t);
  t.equal(await send(), null, 'no server');
  const socket = await serve();
  t.equal((await readdir(shared)).length, 1);
  t.equal(await send(), '{"a":1}');
  await socket.close();
  t.equal(await send(), null);
  const again = await serve();
  t.equal(await send(), '{"a":1}');
  await again.close();
});

t.test('a folder that others made or can write to is used by neither side', async (t) => {
  const { dataDir, shared, serve, send } = await setUp(t);
  const refusal = { message: /should be a directory of this user/ };
  await mkdir(shared);
  for (const mode of [0o777, 0o710, 0o1777]) {
    await chmod(shared, mode);
    await t.rejects(serve(), refusal);
    await t.rejects(send(), refusal);
  }
  await rm(shared, { recursive: true });
  await symlink(dataDir, shared);
  await t.rejects(serve(), refusal, 'a link');
  await t.rejects(send(), refusal);
  t.strictSame(await readdir(dataDir), []);
});

t.test(
  'a folder of another user is refused',
  { skip: process.getuid?.() !== 0 && 'only root' },
  async (t) => {
    const { shared, serve, send } = await setUp(t);
    await mkdir(shared, { mode: 0o700 });
    await chown(shared, 12_345, 12_345);
    await t.rejects(serve(), { message: /should be a directory of this user/ });
    await t.rejects(send(), { message: /should be a directory of this user/ });
  },
);
