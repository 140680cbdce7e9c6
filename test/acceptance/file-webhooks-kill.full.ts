/** Webhooks of files over HTTP: what is acknowledged is told, whatever happens to the process and to the address. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { freePorts } from '../services/free-port.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

type IsGenuine = (secret: string, headers: object, body: string) => boolean;

/** The sample of docs/api.md, as a reader would copy it. */
async function documentedCheck(): Promise<IsGenuine> {
  const text = await readFile(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
  const [, sample = ''] = /^```js\n([\s\S]*?isGenuine[\s\S]*?)^```$/m.exec(text) ?? [];
  return (await import(`data:text/javascript,${encodeURIComponent(sample)}`)).isGenuine as IsGenuine;
}

t.test('acknowledged uploads and deletions are told after a kill', { timeout: 120_000 }, async (t) => {
  const port = await freePorts(1);
  const url = `http://127.0.0.1:${port}/files`;
  const env = { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };
  const sluice = await sluiceFor(t, { env });
  const ask = async (method: string, path: string, body?: string, at = sluice) => {
    const headers = { authorization: `Bearer ${sluice.token}` };
    const response = await fetch(at.baseUrl + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await response.text();
    return { status: response.status, json: text === '' ? null : JSON.parse(text) };
  };
  const rules = { webhooks: [{ url }, { url: 'http://10.0.0.1/files', events: ['file.created'] }] };
  const set = await ask('PUT', '/_projects_/demo/files/rules', JSON.stringify(rules));
  t.equal(set.status, 200);
  t.match(set.json, { rules, warnings: [], stranger: { upload: 'none' } });
  const wrong = JSON.stringify({ webhooks: [{ url: 'ftp://127.0.0.1' }] });
  t.match(await ask('PUT', '/_projects_/demo/files/rules', wrong), {
    status: 400,
    json: { code: 'invalid_rules' },
  });

  const names: string[] = [];
  for (const name of ['a.txt', 'b.txt', 'c.txt']) {
    const put = await ask('PUT', `/_f_/demo/${name}`, name);
    t.equal(put.status, 200, 'nobody listens at the address');
    names.push(put.json.name);
  }
  t.equal((await ask('DELETE', `/_f_/demo/${names[0]}`)).status, 204);
  await sluice.kill();

  const receiver = await startWebhookReceiver(port);
  t.teardown(() => receiver.close());
  const again = await sluice.restart();
  await receiver.count(4);
  const isGenuine = await documentedCheck();
  const { secret } = (await ask('GET', '/_webhooks_/secret', undefined, again)).json;
  for (const { headers, text } of receiver.received) {
    t.ok(isGenuine(secret, headers, text), 'the signature is right');
    t.notOk(isGenuine(secret, headers, `${text} `));
  }
  const about = (name: string | undefined) =>
    receiver.received.flatMap(({ body }) => (body.file.name === name ? [body.event] : []));
  t.strictSame(about(names[0]), ['file.created', 'file.deleted']);
  for (const name of names.slice(1)) t.strictSame(about(name), ['file.created']);

  const calls = (await ask('GET', '/_webhooks_/deliveries', undefined, again)).json as {
    url: string;
    space: string;
    recordIds: string[];
    lastProblem: string | null;
  }[];
  const refused = calls.filter((call) => call.url.startsWith('http://10.'));
  t.equal(refused.length, 3);
  t.ok(refused.every(({ lastProblem }) => lastProblem?.includes('private network')));
  t.match(calls.at(-1), { space: '', recordIds: [names[0]] });
});
