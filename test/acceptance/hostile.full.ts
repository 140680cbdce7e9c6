/** A client that does no harm beside accounts that do their worst, all at once: npm run bench -- hostile, small and short. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

const root = join(import.meta.dirname, '../..');

t.test('no request of a client fails beside all hostile cases', { timeout: 400_000 }, async (t) => {
  const args = ['--import', 'tsx', 'bench/hostile/main.ts', '--minutes', '0.1', '--rows', '2000'];
  // the test runner's own variables would reach the server
  const { PATH = '', HOME = '', SLUICE_TEST_BUILT } = process.env;
  const env = { PATH, HOME, ...(SLUICE_TEST_BUILT && { SLUICE_TEST_BUILT }) };
  // rejects when a request failed, with what was printed
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
  t.match(stdout, /^failed requests of the client: 0$/m);
  t.comment(stdout);
  const outcomes = [...stdout.matchAll(/^- (\w+): (\{.*\})$/gm)].map(([, name, text]) => [name, text]);
  t.equal(outcomes.length, 21, 'all attacks ran');
});
