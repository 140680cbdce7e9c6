/** `sluice load`: bad arguments, and a run that is ended early. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { RunResult } from '../../load/run/result.ts';
import { runScript, runToEnd } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const folder = await temporaryFolder(t);
const mix = join(folder, 'mix.json');
await writeFile(mix, '{"requests": [{"kind": "request", "path": "/{number}"}]}');
const server = createServer((_, response) => response.end('right')).listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const load = (...args: string[]) => runToEnd('cli/load.ts', args, {});

t.test('what can not run is one sentence, and status 1', async (t) => {
  const bad = join(folder, 'bad.json');
  await writeFile(bad, '{"requests": [\n{"kind": "request", "path": "/", "weight": "x"}]}');
  const target = ['--target', url];
  const cases: readonly (readonly [string[], string])[] = [
    [[bad, ...target], 'bad.json:2: requests[0].weight is "x", and must be a number above 0'],
    [[mix], '--target is missing; see --help'],
    [target, 'name one mix; see --help'],
    [[mix, '--target', 'example'], '--target is "example", and must be an http:// or https:// address'],
    [[mix, ...target, '--rate', 'many'], '--rate is "many", and must be a number above 0, at most 10000000'],
    [[mix, ...target, '--timeout', '1e6'], '--timeout is "1e6", and must be a number above 0, at most 86400'],
    [[mix, ...target, '--workers', '1.5'], '--workers is "1.5", and must be a whole number from 1 to 256'],
    [[mix, ...target, '--pid', '0'], '--pid is "0", and must be the number of a process'],
    [
      [mix, ...target, '--capacity', 'p99 < 1 s', '--rate', '1'],
      'a load has one of rate, concurrency and capacity',
    ],
    [[mix, ...target, '--option', 'projct=a'], 'a target of kind sluice has no option projct, only project'],
    [[mix, ...target, '--verify', '200%'], '--verify is "200%", and must be a share such as 1%'],
    [[mix, ...target, '--option', 'a'], '--option is "a", and must be name=value'],
    [
      [mix, ...target, '--kind', 'http', '--capacity', 'fast'],
      'the goal "fast" is not understood; write it as "p99 < 50ms, errors < 0.1 %"',
    ],
    [[mix, ...target, '--kind', 'http', '--verify', '1%'], "a target of kind http can't be verified"],
    [[mix, ...target], 'the target needs an access token: --token, or SLUICE_TOKEN'],
  ];
  await Promise.all(
    cases.map(async ([args, sentence]) =>
      t.strictSame(await load(...args), { status: 1, stdout: '', stderr: `sluice load: ${sentence}\n` }),
    ),
  );
});

async function endedBy(t: Test, signal: NodeJS.Signals): Promise<void> {
  const json = join(folder, `${signal}.json`);
  const args = [mix, '--target', url, '--kind', 'http', '--rate', '100', '--seconds', '600', '--json', json];
  let count = 0;
  const enough = new Promise<void>((resolve) => {
    server.on('request', () => {
      if (++count === 30) resolve();
    });
  });
  const child = runScript('cli/load.ts', args, {});
  let output = '';
  child.stdout?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  await enough;
  child.kill(signal);
  const [status] = await once(child, 'close');
  t.equal(status, 0);
  t.match(output, /^request +\d+ +0 /m);
  const { totals } = JSON.parse(await readFile(json, 'utf8')) as RunResult;
  t.ok(totals.good >= 30 && totals.good === totals.sent);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  t.test(`${signal} ends a run with the result of what ran`, (t) => endedBy(t, signal));
