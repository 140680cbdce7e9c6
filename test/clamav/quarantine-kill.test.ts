/** A server that is killed between the steps of a scan never publishes a file without one; what it refuses is told. */
import t from 'tap';
import { badSignature, badText, startClamd } from '../services/clamd.ts';
import { runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const clamd = await startClamd();
t.teardown(() => clamd.stop());

const ask = (at: Sluice, method: string, path: string, body?: string) =>
  fetch(at.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${at.token}` },
    ...(body !== undefined && { body }),
  });
const namesIn = async (at: Sluice, state: string): Promise<string[]> => {
  const list = await ask(at, 'GET', `/_f_/demo?${state}`);
  const { files = [] } = (await list.json()) as { files?: { name: string }[] };
  return files.map(({ name }) => name);
};
const until = async (holds: () => Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100));
};

t.test('killed while it waits for a verdict, it publishes nothing', { timeout: 120_000 }, async (t) => {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const env = {
    CLAMD_ADDRESS: clamd.text,
    WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8',
    ...{ JANITOR_GRACE_MS: '1000', JANITOR_INTERVAL_MS: '1000', JANITOR_STALE_AFTER_MS: '1000' },
  };
  const sluice = await sluiceFor(t, { env });
  const rules = { webhooks: [{ url: receiver.url, events: ['file.created', 'file.refused'] }] };
  t.equal((await ask(sluice, 'PUT', '/_projects_/demo/files/rules', JSON.stringify(rules))).status, 200);
  clamd.pause();
  const put = (content: string) => ask(sluice, 'PUT', '/_f_/demo/a.txt', content).catch(() => null);
  // forms and PUT have no row before their verdict
  const answers = [put('good'), put(badText)];
  // direct uploads have one
  for (const content of ['good', badText]) {
    const plan = JSON.stringify({ name: 'b.txt', size: content.length });
    const planned = await ask(sluice, 'POST', '/_f_/demo/direct', plan);
    const { location, parts } = (await planned.json()) as { location: string; parts: { url: string }[] };
    for (const { url } of parts) await fetch(url, { method: 'PUT', body: content });
    answers.push(ask(sluice, 'POST', `${location}/complete`).catch(() => null));
  }
  await until(async () => (await namesIn(sluice, 'hidden=checking')).length === 2);
  t.same(await namesIn(sluice, ''), []);
  await sluice.kill();
  await Promise.all(answers);
  clamd.resume();
  const again = await sluice.restart();
  await until(async () => (await namesIn(again, '')).length === 1);
  await until(async () => (await namesIn(again, 'hidden=refused')).length === 1);
  t.equal((await namesIn(again, 'hidden=refused')).length, 1);
  await receiver.count(2);
  t.match(
    receiver.received.map(({ body }) => body).sort((one, other) => one.event.localeCompare(other.event)),
    [
      { event: 'file.created' },
      { event: 'file.refused', signature: badSignature, file: { state: 'refused' } },
    ],
  );
});

t.test('objects without rows are scanned before they are files again', { timeout: 120_000 }, async (t) => {
  const env = {
    CLAMD_ADDRESS: clamd.text,
    ...{ JANITOR_GRACE_MS: '1000', JANITOR_INTERVAL_MS: '1000' },
  };
  const sluice = await sluiceFor(t, { env, preloads: ['test/services/kill-before-row.ts'] });
  t.equal(await ask(sluice, 'PUT', '/_f_/demo/a.txt', badText).catch(() => null), null);
  await sluice.ended();
  const again = await sluiceFor(t, { env, dataDir: sluice.dataDir });
  await until(async () => (await namesIn(again, 'hidden=refused')).length === 1);
  t.same(await namesIn(again, ''), []);
});

t.test('the command line lists and publishes, with and without a server', { timeout: 120_000 }, async (t) => {
  const sluice = await sluiceFor(t, { env: { CLAMD_ADDRESS: clamd.text, SCAN_MAX_BYTES: '10' } });
  const held = await ask(sluice, 'PUT', '/_f_/demo/a.txt', 'longer than that');
  const { name, state } = (await held.json()) as { name: string; state: string };
  t.equal(state, 'checking');
  const settings = { DATA_DIR: sluice.dataDir };
  const listed = await runToEnd('cli/quarantine.ts', [], settings);
  t.match(JSON.parse(listed.stdout), { checking: [{ name, project: 'demo' }], refused: [] });
  await sluice.stop();
  const published = await runToEnd('cli/quarantine.ts', ['--publish', name], settings);
  t.match(published, { status: 0, stdout: `published: ${name}\n` });
  t.match(await runToEnd('cli/quarantine.ts', ['--publish', name], settings), { status: 1 });
  const again = await sluice.restart();
  t.same(await namesIn(again, ''), [name]);
});
