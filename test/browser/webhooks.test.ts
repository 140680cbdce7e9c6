/** Calls of webhooks in the console: listed with what became of them, and made again. */
import t from 'tap';
import { closeByEscape, makeToken, openConsole, register } from '../services/console-browser.ts';
import { call, structureOf } from '../services/record-client.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

t.test('calls are listed, and one is made again', async (t) => {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const server = await openConsole({ env: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' } });
  t.teardown(() => server.close());
  const { page, problems } = await server.open();
  await register(server, page);
  const token = await makeToken(server, page, 'test');
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('heading', { name: 'No calls yet' }).waitFor();
  const webhooks = { onInsertUrl: `${receiver.url}/<img src=x onerror=alert(1)>` };
  const fields = [{ name: 'n', type: 'NUMBER' }];
  const { baseUrl } = server.sluice;
  const structure = structureOf('shop', 'orders', fields, { webhooks });
  const inserted = await call({
    baseUrl,
    token,
    path: '/shop/orders',
    structure,
    body: [{ n: 1 }, { n: 2 }],
  });
  t.equal(inserted.status, 200);
  await receiver.count(1);
  const row = page.getByRole('row', { name: /record\.inserted/ });
  do {
    await page.getByRole('button', { name: 'Refresh' }).click();
    await row.waitFor();
  } while ((await row.getByText('delivered').count()) === 0);
  await row.getByText('2 records in').waitFor();
  await row.getByText('answered 204').waitFor();
  t.equal(await page.locator('main img').count(), 0, 'an address is text');
  await row.getByRole('button', { name: /^Send again/ }).click();
  await page.getByText('Call sent again.').waitFor();
  await receiver.count(2);
  t.equal(receiver.received[1]?.text, receiver.received[0]?.text);
  await page.getByRole('button', { name: 'Signing key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^whsec_/).waitFor();
  await closeByEscape(dialog);
  await row.getByRole('link', { name: 'shop/orders' }).click();
  await page.getByRole('heading', { name: 'orders' }).waitFor();
  t.strictSame(problems, []);
});

t.test('an address that answered 410 is shown, and switched on again', async (t) => {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const server = await openConsole({ env: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' } });
  t.teardown(() => server.close());
  const { page, problems } = await server.open();
  await register(server, page);
  const token = await makeToken(server, page, 'test');
  receiver.answers.push(410);
  const webhooks = { onInsertUrl: `${receiver.url}/gone` };
  const structure = structureOf('shop', 'orders', [{ name: 'n', type: 'NUMBER' }], { webhooks });
  const { baseUrl } = server.sluice;
  const insert = () => call({ baseUrl, token, path: '/shop/orders', structure, body: [{ n: 1 }] });
  await insert();
  await receiver.count(1);
  await page.getByRole('link', { name: 'Webhooks' }).click();
  const row = page.getByRole('row', { name: /record\.inserted/ });
  do {
    await page.getByRole('button', { name: 'Refresh' }).click();
    await row.waitFor();
  } while ((await row.getByText('failed').count()) === 0);
  await page.reload();
  await page.getByText('are switched off: it answered 410 Gone').waitFor();
  await page.getByRole('button', { name: `Switch on: ${receiver.url}/gone` }).click();
  await page.getByText('Address switched on.').waitFor();
  await insert();
  await receiver.count(2);
  t.strictSame(problems, []);
});

t.test('a call for a file is listed with its name, after its address was set under File rules', async (t) => {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const server = await openConsole({ env: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' } });
  t.teardown(() => server.close());
  const { page, problems } = await server.open();
  await register(server, page);
  const token = await makeToken(server, page, 'test');
  const { baseUrl } = server.sluice;
  const upload = (name: string) =>
    fetch(`${baseUrl}/_f_/shop/${name}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}` },
      body: 'x',
    });
  t.equal((await upload('before.txt')).status, 200);
  await page.goto(`${baseUrl}/_console_/projects/shop/files/rules`);
  const rules = { webhooks: [{ url: `${receiver.url}/files`, events: ['file.created'] }] };
  await page.getByLabel('Rules', { exact: true }).fill(JSON.stringify(rules));
  await page.getByRole('button', { name: 'Save the rules' }).click();
  await page.getByText('Rules saved.').waitFor();
  t.equal((await upload('photo.txt')).status, 200);
  await receiver.count(1);
  await page.getByRole('link', { name: 'Webhooks' }).click();
  const row = page.getByRole('row', { name: /file\.created photo\.txt in files of shop/ });
  await row.waitFor();
  await row.getByRole('link', { name: 'files of shop' }).click();
  await page.getByText('before.txt').first().waitFor();
  t.strictSame(problems, []);
});
