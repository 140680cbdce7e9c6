/** `sluice load`: where a result goes, and what is refused before the run. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { readResult } from '../../load/report/read-result.ts';
import { drawnRun } from '../services/drawn-run.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const folder = await temporaryFolder(t);
const inFolder = (name: string): string => join(folder, name);
const server = createServer((request, response) => {
  response.writeHead(request.url === '/refused' ? 429 : 200).end();
});
await once(server.listen(0, '127.0.0.1'), 'listening');
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
await writeFile(
  inFolder('mix.json'),
  JSON.stringify({
    requests: [
      { kind: 'request', name: 'good', path: '/', weight: 3 },
      { kind: 'request', name: 'bad', path: '/refused' },
    ],
  }),
);

const load = (options: readonly string[], env: Record<string, string> = {}) =>
  runToEnd(
    'cli/load.ts',
    [inFolder('mix.json'), '--target', target, '--kind', 'http', '--workers', '1', ...options],
    env,
  );
const brief = ['--rate', '100', '--seconds', '3'];

t.test('a result as lines, as JSON, as a page and as a record, with the cost of the target', async (t) => {
  const sluice = await sluiceFor(t);
  const [json, page, record] = [inFolder('run.json'), inFolder('run.html'), `${sluice.baseUrl}/lab/runs`];
  const { status, stdout, stderr } = await load(
    [...brief, '--pid', String(process.pid), '--json', json, '--page', page, '--record', record],
    { SLUICE_RECORD_TOKEN: sluice.token },
  );
  t.equal(status, 0, stderr);
  t.match(stdout, /^bad +0 +\d+ +0 /m);
  t.match(stdout, /^Failed, by code: \S+ \d+$/m);
  t.match(stdout, new RegExp(`^The target took .+ of CPU, .+ of memory \\(pid ${process.pid}\\)\\.$`, 'm'));
  const result = readResult(await readFile(json, 'utf8'), json);
  t.equal(result.totals.sent, 300);
  t.ok((result.cost.target?.memory ?? 0) > 20e6);
  t.ok(result.windows.some(({ targetCpu }) => targetCpu !== null));
  t.match(await readFile(page, 'utf8'), 'Latency over time');

  const [, address = ''] = /^Stored as (\S+)$/m.exec(stdout) ?? [];
  const compared = await runToEnd('cli/load.ts', ['compare', address, json], { SLUICE_TOKEN: sluice.token });
  t.equal(compared.status, 0, compared.stderr);
  t.match(compared.stdout, /^requests\/s +(\d+\/s) +\1 +\+0 %/m);
});

t.test('what would lose the result is refused before the run', async (t) => {
  for (const [options, message] of [
    [['--json', inFolder('none/run.json')], /--json is ".+", whose folder can't be written to/],
    [['--page', inFolder('none/run.html')], /--page is ".+", whose folder can't be written to/],
    [['--record', 'nowhere'], /nowhere is not the address of a record space/],
    [
      ['--record', `${target}/lab/runs`],
      /--record needs an access token of its server in SLUICE_RECORD_TOKEN/,
    ],
    [
      ['--record', 'http://127.0.0.1:2/lab/runs'],
      /http:\/\/127.0.0.1:2 can't be reached: connect ECONNREFUSED/,
    ],
    [['--pid', '1', '--metrics', target], /give --pid or --metrics, not both/],
    [['--metrics', 'here'], /--metrics is "here", and must be an address/],
    [
      ['--metrics', `${target}/metrics`],
      /the target's CPU is not known: .+ has no process_cpu_seconds_total/,
    ],
  ] as const) {
    const { status, stdout, stderr } = await load(options, {
      SLUICE_TOKEN: 'of-the-target',
      ...(options[1] === 'http://127.0.0.1:2/lab/runs' && { SLUICE_RECORD_TOKEN: 'of-the-records' }),
    });
    t.equal(status, 1);
    t.match(stderr, message);
    t.equal(stdout, '', 'nothing ran');
  }
});

t.test('several runs are compared, as words and as JSON', async (t) => {
  const names = [];
  for (let seed = 1; seed <= 4; seed++) {
    const name = inFolder(`${seed}.json`);
    await writeFile(name, JSON.stringify(drawnRun({ seed, alike: 0.2, p50: seed > 2 ? 3 : 2 })));
    names.push(name);
  }
  const [one, two, three, four] = names as [string, string, string, string];
  const words = await runToEnd('cli/load.ts', ['compare', one, two, 'vs', three, four], {});
  t.equal(words.status, 0, words.stderr);
  t.match(words.stdout, /^B is worse: p50 \S+ % higher, and noise makes up to \S+ %\.$/m);
  const json = await runToEnd('cli/load.ts', ['compare', one, three, '--json'], {});
  t.match(JSON.parse(json.stdout), { figures: [{ name: 'requests/s' }, { name: 'p50', verdict: 'higher' }] });
});

t.test('what is no result is not compared', async (t) => {
  await writeFile(inFolder('other.json'), '{"version":1}');
  await writeFile(inFolder('later.json'), '{"version":2}');
  for (const [args, message] of [
    [[inFolder('other.json'), inFolder('1.json')], /other\.json is not a result of sluice load$/m],
    [
      [inFolder('later.json'), inFolder('1.json')],
      /later\.json is a result of another version of sluice load: 2$/m,
    ],
    [[inFolder('run.html'), inFolder('1.json')], /run\.html is not JSON/],
    [[inFolder('1.json')], /name two results, or several with vs between the sides/],
    [['http://127.0.0.1:1/lab/runs/x', inFolder('1.json')], /needs an access token/],
  ] as const) {
    const { status, stderr } = await runToEnd('cli/load.ts', ['compare', ...args], {});
    t.equal(status, 1);
    t.match(stderr, message);
  }
});
