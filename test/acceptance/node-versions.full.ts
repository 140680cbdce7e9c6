/** What differs between the versions of Node that the server runs on. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { acceptanceToken, removeData, type Sluice, startSluice } from '../services/start-sluice.ts';
import { startWorkers } from '../services/start-workers.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const major = Number(process.versions.node.split('.')[0]);

function saysOnceThatItEnded(t: Test, sluice: Sluice): void {
  const lines = sluice.stderr().match(/"level":40,.*"Node 20 has had no fixes since April 2026/g) ?? [];
  t.equal(lines.length, major === 20 ? 1 : 0, sluice.stderr());
}

t.test('the log says once that Node 20 has ended, and nothing on later versions', async (t) => {
  const sluice = await startSluice();
  t.teardown(() => removeData(sluice));
  t.equal(await sluice.stop(), 0);
  saysOnceThatItEnded(t, sluice);
});

t.test('and once where there are workers', async (t) => {
  const chdb = await startClickhouse();
  t.teardown(() => chdb.close());
  saysOnceThatItEnded(t, await startWorkers(t, chdb.url));
});

t.test('plain node starts the server', { skip: major < 24 && 'Node 24 strips types' }, async (t) => {
  const dataDir = await temporaryFolder(t);
  const { NODE_OPTIONS: _runner, ...env } = process.env;
  const child = spawn(process.execPath, ['main.ts'], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...env, PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: acceptanceToken },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { end, output, untilWritten } = watchChild(child, 'node main.ts');
  const [, baseUrl = ''] = await untilWritten(/^Sluice listens on (\S+)$/m);
  const form = new FormData();
  form.set('file', new Blob(['hello']), 'hello.txt');
  const upload = await fetch(`${baseUrl}/_f_/p/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${acceptanceToken}` },
    body: form,
  });
  const { s3Link } = (await upload.json()) as { s3Link: string };
  t.equal(await (await fetch(s3Link)).text(), 'hello');
  const structure = structureOf('p', 's', fieldsOf('a TEXT'));
  const records = { baseUrl, token: acceptanceToken, path: '/p/s', structure };
  await call({ ...records, body: [{ a: 'x' }] });
  t.match((await call(records)).body, [{ a: 'x' }]);
  t.equal(await end('SIGTERM'), 0);
  t.notMatch(output.stderr, /Warning/);
});
