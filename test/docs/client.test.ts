/** The samples of docs/client.md and the first one of README.md, as a reader would copy them: two programs, and React's component in two windows of Chromium. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import t from 'tap';
import { launchChromium } from '../services/launch-chromium.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/client.md'), 'utf8');
const samples = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
const alias = { 'sluice-client': join(root, 'client/src/index.ts') };

t.test('programs', async (t) => {
  const sluice = await sluiceFor(t);
  const folder = await temporaryFolder(t);
  const [records = '', files = ''] = samples('ts');
  const output = async (code: string): Promise<string> => {
    const text = code.replaceAll('http://127.0.0.1:8080', sluice.baseUrl);
    const file = join(folder, 'program.mjs');
    const stdin = { contents: text, resolveDir: folder, loader: 'ts' as const };
    await build({ stdin, alias, bundle: true, format: 'esm', outfile: file });
    const env = { ...process.env, TOKEN: sluice.token };
    return (await run(process.execPath, [file], { env })).stdout;
  };
  t.equal(await output(records), 'Paris: 25\n1 orders of Paris\n');
  t.match(await output(files), /5 of 5\nhello\n$/);
  const [, readme = ''] =
    /^```js\n([\s\S]*?)^```$/m.exec(await readFile(join(root, 'README.md'), 'utf8')) ?? [];
  t.match(await output(readme), /^\[ \{ id: '[-0-9a-f]{36}', name: 'Grace' \} \]\n$/);
});

async function pageOf(sluice: Sluice, folder: string): Promise<string> {
  const [code = ''] = samples('jsx');
  const { stdout } = await run(
    'node',
    ['--import', 'tsx', 'cli/token.ts', '--publishable', '--origin', '*'],
    {
      cwd: root,
      env: { ...process.env, DATA_DIR: sluice.dataDir },
    },
  );
  const mount = `import { createRoot } from 'react-dom/client';
createRoot(document.getElementById('app')).render(<Notes />);`;
  const { outputFiles } = await build({
    stdin: { contents: `${code}\n${mount}`, resolveDir: folder, loader: 'jsx' },
    nodePaths: [join(import.meta.dirname, 'node_modules')],
    define: {
      SLUICE_URL: JSON.stringify(sluice.baseUrl),
      PUBLISHABLE_TOKEN: JSON.stringify(stdout.trim()),
      'process.env.NODE_ENV': '"production"',
    },
    alias,
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    write: false,
  });
  return `<div id="app"></div><script type="module">${outputFiles[0]?.text}</script>`;
}

t.test("React's component in two windows", async (t) => {
  const sluice = await sluiceFor(t);
  const folder = await temporaryFolder(t);
  await mkdir(folder, { recursive: true });
  const send = async (method: string, path: string, body: string): Promise<void> => {
    const headers = { authorization: `Bearer ${sluice.token}`, 'content-type': 'application/json' };
    const answer = await fetch(sluice.baseUrl + path, { method, headers, body });
    t.equal(answer.status, 200, await answer.text());
  };
  await send(
    'POST',
    '/demo/notes/set-structure',
    structureOf('demo', 'notes', fieldsOf('text TEXT required')),
  );
  await send('PUT', '/_projects_/demo/spaces/notes/rules', JSON.stringify({ find: true, insert: true }));
  const html = await pageOf(sluice, folder);
  await writeFile(join(folder, 'page.html'), html);
  const pages = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const browser = await launchChromium();
  t.teardown(async () => {
    await browser.close();
    pages.close();
  });
  const open = async (): Promise<Page> => {
    const opened = await (await browser.newContext()).newPage();
    await opened.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
    return opened;
  };
  const [ada, bob] = [await open(), await open()];
  for (const [window, text] of [
    [ada, 'of Ada'],
    [bob, 'of Bob'],
  ] as const) {
    await window.getByLabel('Note').fill(text);
    await window.getByRole('button', { name: 'Add' }).click();
    for (const each of [ada, bob]) await each.getByRole('listitem').getByText(text).waitFor();
  }
  t.strictSame(await ada.getByRole('listitem').allTextContents(), ['of Ada', 'of Bob']);
});
