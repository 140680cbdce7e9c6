import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { readRecordedRun } from '../record-run.ts';
import { readResult } from '../report/read-result.ts';
import type { RunResult } from '../run/result.ts';
import { compareRuns } from './compare-runs.ts';
import { describeComparison } from './describe-comparison.ts';

/** @param command how the user runs it */
const helpOf = (command: string): string => `
Says which differences between two results are larger than the noise of repeated runs.

  ${command} A B [--json]
  ${command} A... vs B... [--json]

  A, B     files that --json wrote, or addresses of records that --record stored: http://HOST/PROJECT/SPACE/ID, which are
           read with the token in SLUICE_RECORD_TOKEN or SLUICE_TOKEN
  --json   writes the comparison as JSON

With several runs of each side the noise between runs is known too: before-*.json vs after-*.json.
`;

/** `sluice load compare`. Rejects with a sentence. */
export async function runCompare(command: string, args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(helpOf(command).trimStart());
    return;
  }
  const [a, b] = await Promise.all(sidesOf(positionals).map((names) => Promise.all(names.map(readRun))));
  const comparison = compareRuns(a as RunResult[], b as RunResult[]);
  process.stdout.write(
    values.json ? `${JSON.stringify(comparison, null, 2)}\n` : describeComparison(comparison),
  );
}

function sidesOf(names: readonly string[]): readonly (readonly string[])[] {
  const place = names.indexOf('vs');
  const sides = place < 0 ? names.map((name) => [name]) : [names.slice(0, place), names.slice(place + 1)];
  if (sides.length !== 2 || sides.some((side) => side.length === 0))
    throw new Error('name two results, or several with vs between the sides; see compare --help');
  return sides;
}

async function readRun(name: string): Promise<RunResult> {
  if (!/^https?:\/\//.test(name)) return readResult(await readFile(name, 'utf8'), name);
  const { SLUICE_RECORD_TOKEN, SLUICE_TOKEN } = process.env;
  const token = SLUICE_RECORD_TOKEN ?? SLUICE_TOKEN;
  if (token === undefined)
    throw new Error(`${name} needs an access token in SLUICE_RECORD_TOKEN or SLUICE_TOKEN`);
  return readRecordedRun(name, token);
}
