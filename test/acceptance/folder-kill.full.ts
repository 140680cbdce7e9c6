/** kill -9 while the file at a path of a folder is replaced: the path has the last answered version, or the next one. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { randomFrom } from '../services/random-from.ts';
import { killAll, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import { seed } from '../services/test-size.ts';

/** At random times. KILLS=50 tries more of them. */
const kills = Number(process.env.KILLS ?? 6);
const random = randomFrom(seed);
const env = { JANITOR_GRACE_MS: '1000' };

async function ask({ baseUrl, token }: Sluice, path: string, sent: RequestInit = {}) {
  const headers = { authorization: `Bearer ${token}`, ...(sent.headers as Record<string, string>) };
  const answer = await fetch(`${baseUrl}/_f_/demo${path}`, { ...sent, headers });
  return { status: answer.status, text: await answer.text() };
}
const put = (server: Sluice, path: string, version: number) =>
  ask(server, path, { method: 'PUT', body: `version ${version}`, headers: { 'if-match': '*' } });

t.test('versions of a playlist', { timeout: 300_000 }, async (t) => {
  let server = await startSluice({ env });
  const { dataDir } = server;
  t.teardown(() => killAll([server]));
  const first = await ask(server, '/new/index.m3u8', { method: 'PUT', body: 'version 0' });
  const { folder } = JSON.parse(first.text) as { folder: string };
  const path = `/${folder}/index.m3u8`;
  let answered = 0;
  for (let kill = 0; kill < kills; kill++) {
    const working = (async () => {
      for (;;) {
        const { status } = await put(server, path, answered + 1);
        t.equal(status, 200);
        answered++;
      }
    })().catch(() => {});
    await sleep(100 + random() * 1500);
    await server.kill();
    await working;
    server = await server.restart(env);
    const { status, text } = await ask(server, path);
    t.equal(status, 200);
    const version = Number(text.replace('version ', ''));
    t.ok(version === answered || version === answered + 1, `${version} after ${answered}`);
    answered = version;
  }
  t.ok(answered > kills);
  await server.stop();
  await sleep(1100);
  const { stdout, stderr } = await runToEnd('cli/janitor.ts', [], { ...env, DATA_DIR: dataDir });
  t.match(JSON.parse(stdout || '{}'), { failures: 0 }, stderr);
  server = await server.restart(env);
  const { files } = JSON.parse((await ask(server, `?folder=${folder}`)).text);
  t.strictSame(
    files.map((file: { path: string }) => file.path),
    ['index.m3u8'],
  );
  t.equal((await ask(server, path)).text, `version ${answered}`);
});
