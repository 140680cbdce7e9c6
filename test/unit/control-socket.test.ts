import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { sendCommand, serveControlSocket } from '#process/lifecycle/control-socket.ts';
import { silentLog } from '../services/silent-log.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const commands = { echo: async (order: unknown) => JSON.stringify(order) };

t.test(
  'a data directory whose path is too long for a socket has it, too',
  { skip: process.platform !== 'linux' && 'only Linux' },
  async (t) => {
    const folder = await temporaryFolder(t);
    const dataDir = join(folder, 'd'.repeat(120));
    const send = () => sendCommand({ dataDir, command: 'echo', order: { a: 1 } });
    t.equal(await send(), null, 'no directory');
    await mkdir(dataDir);
    for (let start = 0; start < 2; start++) {
      t.equal(await send(), null, 'no server');
      const socket = await serveControlSocket({ dataDir, commands, log: silentLog() });
      const [name = '', ...others] = await readdir(dataDir);
      t.match(name, /^control-.*\.sock$/);
      t.strictSame(others, []);
      t.equal((await stat(join(dataDir, name))).mode & 0o777, 0o600);
      t.equal(await send(), '{"a":1}');
      await socket.close();
      t.strictSame(await readdir(dataDir), []);
    }
  },
);

t.test(
  'processes of one data directory start and stop at the same time, and each takes commands',
  async (t) => {
    const dataDir = await temporaryFolder(t);
    const send = () => sendCommand({ dataDir, command: 'echo', order: { a: 1 } });
    for (let start = 0; start < 10; start++) {
      const serve = () => serveControlSocket({ dataDir, commands, log: silentLog() });
      const [one, two, three] = await Promise.all([serve(), serve(), serve()]);
      await Promise.all([one.close(), two.close()]);
      t.equal(await send(), '{"a":1}');
      await three.close();
      t.equal(await send(), null);
      t.strictSame(await readdir(dataDir), []);
    }
  },
);

t.test(
  "the socket of a process that was killed is in nobody's way, and the next one removes it",
  async (t) => {
    const dataDir = await temporaryFolder(t);
    for (const name of ['control.sock', 'control-0123abcd.sock']) {
      const code = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
      await once(spawn(process.execPath, ['-e', code, join(dataDir, name)]), 'exit');
    }
    t.equal((await readdir(dataDir)).length, 2);
    t.equal(await sendCommand({ dataDir, command: 'echo', order: 1 }), null);
    const socket = await serveControlSocket({ dataDir, commands, log: silentLog() });
    t.equal((await readdir(dataDir)).length, 1);
    t.equal(await sendCommand({ dataDir, command: 'echo', order: 1 }), '1');
    await socket.close();
  },
);
