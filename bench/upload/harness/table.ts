import type { Finding, Goal } from '../measures/measure.ts';

const headings = ['#', 'measure', 'subject', 'baseline', 'value', 'First', 'Aim', 'met?'];

/** The findings as a Markdown table that also reads well in a terminal. */
export function renderTable(findings: readonly Finding[]): string {
  const rows = [headings, ...findings.map(cells)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] as number)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  const [head, ...body] = rows.map(line);
  return [head, rule, ...body, ...findings.flatMap(notes)].join('\n');
}

function cells(finding: Finding): string[] {
  const { measure, what, subject, baseline, shown, goal } = finding;
  return [
    measure,
    what,
    subject,
    baseline,
    shown,
    goal === null ? '' : showGoal(goal, goal.first),
    goal === null ? '' : showGoal(goal, goal.aim),
    verdict(finding),
  ];
}

function verdict({ value, goal, problems }: Finding): string {
  if (goal === null) return '';
  if (problems.length > 0) return 'NO: see below';
  if (value === null) return 'not measured';
  if (meets(value, goal.bound, goal.aim)) return 'Aim';
  return meets(value, goal.bound, goal.first) ? 'First' : 'no';
}

function notes({ measure, problems, remark }: Finding): string[] {
  const shown = problems.slice(0, 5).map((problem) => `${measure} problem: ${problem}`);
  if (problems.length > shown.length)
    shown.push(`${measure} and ${problems.length - shown.length} problems more`);
  if (remark !== undefined) shown.push(`${measure}: ${remark}`);
  return shown;
}

function meets(value: number, bound: Goal['bound'], limit: number): boolean {
  if (bound === 'at least') return value >= limit;
  return bound === 'below' ? value < limit : value <= limit;
}

function showGoal({ bound, unit }: Goal, limit: number): string {
  const sign = { 'at most': '<=', 'at least': '>=', below: '<' }[bound];
  return `${sign} ${limit}${unit}`;
}
