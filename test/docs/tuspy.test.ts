/** The sample of docs/uploads.md for Python, as a reader would copy it: killed and run again, and cut off. */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { patternBytes } from '../integration/object-store-contract.ts';
import { installPython } from '../services/python-packages.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { testedS3 } from '../services/tested-s3.ts';
import { watchChild } from '../services/watch-child.ts';

const page = join(import.meta.dirname, '../../docs/uploads.md');
/** Three chunks of the sample. */
const film = patternBytes(20_000_000);
const tuspy = await installPython(['tuspy==1.1.0']);
if (tuspy === null) t.comment('NOT TESTED with tuspy: it takes Python 3 with pip to install it.');

t.test('tuspy goes on after a kill of its process, and after a cut', { skip: tuspy === null }, async (t) => {
  const sluice = await sluiceFor(t, { env: testedS3 });
  const folder = await temporaryFolder(t);
  let sent = 0;
  let cut: Promise<void> | undefined;
  const { hostname: host, port } = new URL(sluice.baseUrl);
  const proxy = await startTcpProxy({
    target: { host, port: Number(port) },
    onConnection({ id, toTarget, closed }) {
      // tuspy connects for each request: to begin, for a chunk, for half a chunk; then to ask where it was
      if (id === 3 || id === 5) toTarget.set({ cutAfterBytes: 4_000_000 });
      if (id === 3) cut = closed;
      void closed.then(() => {
        sent += toTarget.forwarded;
      });
    },
  });
  t.teardown(() => proxy.close());
  const [, sample = ''] = /^## tuspy\n+```python\n([\s\S]*?)^```$/m.exec(await readFile(page, 'utf8')) ?? [];
  await writeFile(join(folder, 'film.mp4'), film);
  await writeFile(join(folder, 'sample.py'), sample.replaceAll('http://127.0.0.1:8080', proxy.url));
  const start = () => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, PYTHONPATH: tuspy ?? '', TOKEN: sluice.token };
    return watchChild(spawn('python3', ['sample.py'], { cwd: folder, env }), 'tuspy');
  };

  const first = start();
  await first.untilReady(async () => cut !== undefined);
  await cut;
  // it waits before it tries again
  await first.end('SIGKILL');
  const second = start();
  t.equal(await second.ended, 0, second.output.both);
  // what was cut off may have to come again; the first chunk does not
  t.ok(sent < film.byteLength + 8_100_000, `${sent} bytes were sent`);

  const answer = await fetch(second.output.stdout.trim(), {
    headers: { authorization: `Bearer ${sluice.token}` },
  });
  const { s3Link, ...file } = (await answer.json()) as { s3Link: string };
  t.match(file, { originalName: 'film.mp4', contentType: 'video/mp4', size: film.byteLength });
  const stored = await fetch(s3Link.replace(proxy.url, sluice.baseUrl));
  t.ok(film.equals(Buffer.from(await stored.arrayBuffer())));
});
