/** Prometheus' own tool reads the alerts, and what the dashboard asks for. */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { dashboardExpressions, rulesFile } from '../services/monitoring-expressions.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const folder = await temporaryFolder(t);

function check(file: string): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  return { status, text: stdout + stderr };
}

t.test('the alerts', async (t) => {
  const { status, text } = check(rulesFile);
  t.equal(status, 0, text);
  t.match(text, /SUCCESS: \d+ rules found/);
});

t.test('the dashboard', async (t) => {
  const expressions = await dashboardExpressions();
  const rules = expressions.map(({ text }, i) => ({ record: `panel_${i}`, expr: text }));
  // JSON is YAML
  const file = join(folder, 'panels.yaml');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
  const { status, text } = check(file);
  t.equal(status, 0, text);
  t.match(text, `SUCCESS: ${expressions.length} rules found`);
});

t.test('what is no expression is refused', async (t) => {
  const file = join(folder, 'broken.yaml');
  const rules = [{ record: 'broken', expr: 'sum by (' }];
  await writeFile(file, JSON.stringify({ groups: [{ name: 'broken', rules }] }));
  t.not(check(file).status, 0);
});
