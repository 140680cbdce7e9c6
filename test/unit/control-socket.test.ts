import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { sendCommand, serveControlSocket } from '../../common/lifecycle/control-socket.ts';
import { silentLog } from '../services/silent-log.ts';

const commands = { echo: async (order: unknown) => JSON.stringify(order) };

t.test(
  'a data directory whose path is too long for a socket has it, too',
  { skip: process.platform !== 'linux' && 'only Linux' },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-socket-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const dataDir = join(folder, 'd'.repeat(120));
    const send = () => sendCommand({ dataDir, command: 'echo', order: { a: 1 } });
    t.equal(await send(), null, 'no directory');
    await mkdir(dataDir);
    for (let start = 0; start < 2; start++) {
      t.equal(await send(), null, 'no server');
      const socket = await serveControlSocket({ dataDir, commands, log: silentLog() });
      t.strictSame(await readdir(dataDir), ['control.sock']);
      t.equal((await stat(join(dataDir, 'control.sock'))).mode & 0o777, 0o600);
      t.equal(await send(), '{"a":1}');
      const other = await serveControlSocket({ dataDir, commands, log: silentLog() });
      await other.close();
      t.equal(await send(), '{"a":1}', 'the first process takes the commands');
      await socket.close();
      t.strictSame(await readdir(dataDir), []);
    }
  },
);

t.test('processes of one data directory that start at the same time all start', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-socket-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  for (let start = 0; start < 10; start++) {
    const serve = () => serveControlSocket({ dataDir, commands, log: silentLog() });
    const sockets = await Promise.all([serve(), serve(), serve()]);
    t.equal(await sendCommand({ dataDir, command: 'echo', order: { a: 1 } }), '{"a":1}');
    for (const socket of sockets) await socket.close();
  }
});
