/** The samples of docs/load-testing.md, as a reader would copy them: k6, vegeta, wrk, Locust and our own tool. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { installGo } from '../services/install-go.ts';
import { installPython } from '../services/python-packages.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/load-testing.md'), 'utf8');

const k6 = await installGo('k6', 'go.k6.io/k6@v1.8.1');
const vegeta = await installGo('vegeta', 'github.com/tsenart/vegeta/v12@v12.13.0');
const locust = await installPython(['locust==2.47.0']);
const wrk = await run('sh', ['-c', 'command -v wrk']).then(
  ({ stdout }) => stdout.trim(),
  () => null,
);
if (k6 === null || vegeta === null) t.comment('NOT TESTED with k6 and vegeta: it takes Go to compile them.');
if (locust === null) t.comment('NOT TESTED with Locust: it takes Python 3 with pip to install it.');
if (wrk === null) t.comment("NOT TESTED with wrk: it takes Debian's package wrk.");

const sluiceCommand = `${process.execPath} --import ${join(root, 'node_modules/tsx/dist/loader.mjs')} ${join(root, 'cli/sluice.ts')}`;

/** The samples of a section, with a shorter run and another server. */
function samplesOf(title: string, { baseUrl }: Sluice): { language: string; text: string }[] {
  const section = page.split(/^#+ /m).find((text) => text.startsWith(title)) ?? '';
  return [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text: text
      .replaceAll('http://127.0.0.1:8080', baseUrl)
      .replaceAll('npx --no-install sluice', sluiceCommand)
      .replaceAll('10s', '2s')
      .replaceAll('--seconds 10', '--seconds 2'),
  }));
}

/** A server with the people of the samples, and a folder to run them in. @returns what runs a section, and its output */
async function prepared(t: Test, programs: readonly (string | null)[] = []) {
  const sluice = await sluiceFor(t);
  const folder = await temporaryFolder(t);
  const path = [...programs.map((program) => join(program as string, '..')), process.env.PATH];
  const env = {
    PATH: path.join(delimiter),
    HOME: folder,
    TOKEN: sluice.token,
    SLUICE_TOKEN: sluice.token,
    PYTHONPATH: locust ?? '',
  };
  const shell = async (text: string): Promise<string> => {
    const { stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', text], { cwd: folder, env });
    return stdout + stderr;
  };
  const runSection = async (title: string, file = ''): Promise<string> => {
    let output = '';
    for (const { language, text } of samplesOf(title, sluice)) {
      if (language === 'sh') output += await shell(text);
      else await writeFile(join(folder, file), text);
    }
    return output;
  };
  await runSection('k6, vegeta, wrk and Locust');
  return { sluice, shell, runSection };
}

t.test('sluice load', async (t) => {
  const { sluice, shell, runSection } = await prepared(t);
  t.match(await runSection('Load tests\n'), /^find +\d+ +0 /m);
  t.match(await runSection('Clean up\n'), /^find +\d+ +0 /m);
  await runSection('Mixes\n', 'mix.json');
  const output = await shell(
    `${sluiceCommand} load mix.json --target ${sluice.baseUrl} --rate 50 --seconds 2`,
  );
  t.match(output, /^insert +\d+ +0 /m);
});

t.test('k6', { skip: k6 === null }, async (t) => {
  const { runSection, shell } = await prepared(t, [k6]);
  await runSection('k6\n', 'find.js');
  // thresholds about time say something about this machine, and k6 then ends with 99
  const output = await shell('k6 run --no-thresholds find.js');
  t.match(output, /checks_succeeded\.*: 100\.00% \d{3}/);
});

t.test('vegeta', { skip: vegeta === null }, async (t) => {
  const { runSection } = await prepared(t, [vegeta]);
  t.match(
    await runSection('vegeta\n'),
    /Success +\[ratio\] +100\.00%\s+Status Codes +\[code:count\] +200:\d+/,
  );
});

t.test('wrk', { skip: wrk === null }, async (t) => {
  const { runSection } = await prepared(t);
  const output = await runSection('wrk\n', 'find.lua');
  t.match(output, /\d+ requests in/);
  t.notMatch(output, /Non-2xx/);
});

t.test('Locust', { skip: locust === null }, async (t) => {
  const { runSection } = await prepared(t, locust === null ? [] : [join(locust, 'bin/locust')]);
  t.match(await runSection('Locust\n', 'locustfile.py'), /Aggregated +\d+ +0\(0\.00%\)/);
});
