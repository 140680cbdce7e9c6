/** kill -9 in the middle of deletions: after a restart every file is whole, or answers 404 and can be deleted again. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { removeData, runToEnd, startSluice } from '../services/start-sluice.ts';

const count = 60;

t.test('kill -9 in the middle of deletions', { timeout: 300_000 }, async (t) => {
  const env = { JANITOR_GRACE_MS: '1000', JANITOR_STALE_AFTER_MS: '1000' };
  const first = await startSluice({ env });
  const ask = (base: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(base + path, { ...init, headers: { authorization: `Bearer ${first.token}` } });
  const upload = async (i: number): Promise<string> => {
    const body = new FormData();
    body.set('file', new Blob([`content ${i}`]), `${i}.txt`);
    const answer = await ask(first.baseUrl, '/_f_/demo/upload', { method: 'POST', body });
    t.equal(answer.status, 200);
    return ((await answer.json()) as { name: string }).name;
  };
  const names = await Promise.all(Array.from({ length: count }, (_, i) => upload(i)));
  const kept = names.splice(0, 10);
  const acknowledged = new Set<string>();
  const waiting = [...names];
  const worker = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const { status } = await ask(first.baseUrl, `/_f_/demo/${name}`, { method: 'DELETE' });
      if (status === 204) acknowledged.add(name);
    }
  };
  const deleting = Promise.allSettled(Array.from({ length: 8 }, worker));
  while (acknowledged.size < 5) await sleep(1);
  await first.kill();
  await deleting;
  t.comment(`${acknowledged.size} deletions were acknowledged before the kill`);
  t.ok(acknowledged.size < names.length, 'the kill came in the middle');

  const again = await first.restart();
  t.teardown(async () => {
    await again.stop();
    await removeData(again);
  });
  const status = async (name: string, method = 'GET'): Promise<number> => {
    const answer = await ask(again.baseUrl, `/_f_/demo/${name}`, { method });
    await answer.arrayBuffer();
    return answer.status;
  };
  const checkAll = async (): Promise<void> => {
    for (const name of kept) t.equal(await status(name), 200, 'what nobody deleted is there');
    for (const name of acknowledged) t.equal(await status(name), 404, 'what was deleted stays away');
    for (const name of names) t.match(String(await status(name)), /^(200|404)$/, 'never a failure');
  };
  await checkAll();
  await sleep(1100);
  const janitor = await runToEnd('cli/janitor.ts', [], { DATA_DIR: again.dataDir, ...env });
  t.match(JSON.parse(janitor.stdout), { rowsMade: 0, failures: 0 });
  await checkAll();
  for (const name of names) {
    const done = await status(name, 'DELETE');
    t.ok(done === 204 || done === 404);
  }
  const { files } = (await (await ask(again.baseUrl, '/_f_/demo?limit=200')).json()) as {
    files: readonly { name: string }[];
  };
  t.strictSame(files.map(({ name }) => name).sort(), [...kept].sort());
});
