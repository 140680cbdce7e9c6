/** Names and contents of files that want to be more than text: nothing of them runs, and everything is shown as it is. */
import t from 'tap';
import { closeByEscape, makeToken, openConsole, register } from '../services/console-browser.ts';
import { upload } from '../services/fill-console.ts';

const names = [
  '<img src=x onerror=window.broken=1>.png',
  '"><script>window.broken=1</script>.html',
  "'-window.broken=1-'.svg",
  'javascript:window.broken=1.txt',
  '{{constructor.constructor("window.broken=1")()}}.txt',
  '\u202egpj.exe',
];
const script =
  '<svg xmlns="http://www.w3.org/2000/svg" onload="window.broken=1"><script>window.broken=1</script></svg>';

t.test('names and contents are inert', async (t) => {
  const server = await openConsole();
  t.teardown(() => server.close());
  const { page, problems } = await server.open();
  await register(server, page);
  const token = await makeToken(server, page, '<b onmouseover=window.broken=1>name</b>');
  const types = ['image/png', 'text/html', 'image/svg+xml', 'text/plain', 'text/xml', 'image/svg+xml'];
  for (const [index, name] of names.entries()) {
    await upload(server, token, {
      project: 'hostile',
      file: new File([script], name, { type: types[index] ?? '' }),
    });
  }
  let dialogs = 0;
  page.on('dialog', (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await page.goto(server.url('/tokens'));
  await page.getByText('<b onmouseover=window.broken=1>name</b>').hover();
  await page.goto(server.url('/projects/hostile/files'));
  for (const name of names) {
    await page.getByRole('button', { name, exact: true }).click();
    const preview = page.getByRole('dialog', { name });
    await preview.getByText('Permanent link').waitFor();
    // also of the one that was sent as image/png: the bytes decide
    t.equal(await preview.locator('pre.preview').textContent(), script, `${name}: its text`);
    t.equal(await preview.locator('iframe, object, embed, script').count(), 0);
    await closeByEscape(preview);
  }
  t.equal(await page.evaluate('window.broken'), undefined);
  t.equal(dialogs, 0);
  t.strictSame(problems, []);
});

t.test('an address of a page does not lead elsewhere after logging in', async (t) => {
  const server = await openConsole();
  t.teardown(() => server.close());
  const { page } = await server.open();
  await register(server, page);
  for (const next of ['//evil.example/', 'https://evil.example/', 'javascript:alert(1)', '/\\evil.example']) {
    await page.goto(`${server.url('/login')}?next=${encodeURIComponent(next)}`);
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    t.ok(page.url().startsWith(`${server.sluice.baseUrl}/_console_/`), `${next}: ${page.url()}`);
  }
});
