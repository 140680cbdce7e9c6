import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

const folder = join(import.meta.dirname, '../../deploy/monitoring');

/** An expression of PromQL, and where it stands. */
export interface MonitoringExpression {
  readonly place: string;
  readonly text: string;
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { expr: string }[] }[];
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[];
}

export const rulesFile = join(folder, 'prometheus-rules.yaml');

/** All that the dashboard asks for, with values in the place of Grafana's variables. */
export async function dashboardExpressions(): Promise<MonitoringExpression[]> {
  const { panels } = JSON.parse(await readFile(join(folder, 'grafana-dashboard.json'), 'utf8')) as Dashboard;
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      place: title,
      text: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
    })),
  );
}

export async function alertExpressions(): Promise<MonitoringExpression[]> {
  const { groups } = parse(await readFile(rulesFile, 'utf8')) as Rules;
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ place: alert, text: expr })));
}
