/** The samples of docs/live.md for Python and Go, as a reader would copy them. */
import { execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { buildGo } from '../services/built-clients.ts';
import { installPython } from '../services/python-packages.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const run = promisify(execFile);
const page = await readFile(join(import.meta.dirname, '../../docs/live.md'), 'utf8');
const python = await installPython(['requests==2.34.2', 'sseclient-py==1.9.0']);
// the sample needs the libraries that this one needs
const go = await buildGo('events-gosse');

function sampleOf(language: string, url: string): string {
  const [, code = ''] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
  return code.replace('http://127.0.0.1:8080', url);
}

/** Runs a sample that watches people of London, and looks at what it prints while they come and go. */
async function sees(t: Test, start: (url: string, folder: string) => Promise<readonly string[]>) {
  const sluice = await sluiceFor(t);
  const structure = structureOf('demo', 'people', fieldsOf('name TEXT', 'city TEXT'));
  const headers = { authorization: `Bearer ${sluice.token}`, 'content-type': 'application/json', structure };
  const send = async (method: string, path: string, body?: object): Promise<{ id: string }> => {
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${sluice.baseUrl}/demo/people${path}`, { method, headers, ...given });
    t.equal(answer.status, 200, `${method} ${path}`);
    return (await answer.json()) as { id: string };
  };
  await send('POST', '/_single_', { name: 'Ada', city: 'London' });
  const [program = '', ...args] = await start(sluice.baseUrl, await temporaryFolder(t));
  const env = { PATH: process.env.PATH ?? '', PYTHONPATH: python ?? '', TOKEN: sluice.token };
  const child = watchChild(spawn(program, args, { env }), 'the sample');
  t.teardown(() => child.end('SIGKILL'));
  await child.untilWritten(/^ready .*Ada/m);
  const { id } = await send('POST', '/_single_', { name: 'Grace', city: 'London' });
  await child.untilWritten(/^enter .*Ada.*Grace|^enter .*Grace.*Ada/m);
  await send('POST', `/update-by-id?id=${id}`, { city: 'Paris' });
  await child.untilWritten(/^leave (?!.*Grace).*Ada/m);
  t.equal(child.output.stderr, '');
}

t.test('the sample for Python', { skip: python === null }, async (t) => {
  await sees(t, async (url, folder) => {
    await writeFile(join(folder, 'sample.py'), sampleOf('python', url));
    return ['python3', join(folder, 'sample.py')];
  });
});

t.test('the sample for Go', { skip: go === null }, async (t) => {
  await sees(t, async (url, folder) => {
    await writeFile(join(folder, 'main.go'), sampleOf('go', url));
    const program = join(folder, 'sample');
    const cwd = join(import.meta.dirname, 'go');
    await run('go', ['build', '-o', program, join(folder, 'main.go')], { cwd });
    return [program];
  });
});
