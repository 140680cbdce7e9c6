import type { RunResult } from '../run/result.ts';

/** Names of the phases that count in all runs. */
export function sharedPhases(a: readonly RunResult[], b: readonly RunResult[]): ReadonlySet<string> {
  const [first = new Set<string>(), ...rest] = [...a, ...b].map(countedPhases);
  return new Set([...first].filter((name) => rest.every((names) => names.has(name))));
}

function countedPhases({ phases }: RunResult): Set<string> {
  return new Set(phases.filter(({ counts }) => counts).map(({ name }) => name));
}

/** Sentences on what makes the two sides hard to compare. */
export function notesOn(a: readonly RunResult[], b: readonly RunResult[]): string[] {
  const all = [...a, ...b];
  const differ = (of: (run: RunResult) => unknown): boolean =>
    new Set(all.map((run) => `${of(run)}`)).size > 1;
  const shared = sharedPhases(a, b);
  const rates = (run: RunResult): unknown =>
    run.phases.filter(({ name }) => shared.has(name)).map(({ offeredRate }) => offeredRate);
  const cases: readonly (readonly [boolean, string])[] = [
    [differ(({ mix }) => mix.text), 'The mixes differ.'],
    [differ(({ mix }) => mix.seed), 'The seeds differ, and so do the requests.'],
    [differ(({ machine }) => machine), 'The runs are from different machines.'],
    [differ(({ tool }) => tool), 'The runs are from different versions of the tool.'],
    [shared.size === 0, 'The runs have no phase in common.'],
    [
      shared.size > 0 && all.some((run) => countedPhases(run).size > shared.size),
      `Only phases that all runs have are compared: ${[...shared].join(', ')}.`,
    ],
    [differ(rates), 'The phases offer different rates of requests.'],
    [
      a.length < 2 || b.length < 2,
      'The noise between runs is not known: it takes two or more runs of each side, and five make it small.',
    ],
    ...warned(a, 'A'),
    ...warned(b, 'B'),
  ];
  return cases.flatMap(([applies, sentence]) => (applies ? [sentence] : []));
}

function warned(runs: readonly RunResult[], side: string): (readonly [boolean, string])[] {
  const [first, ...others] = new Set(runs.flatMap(({ warnings }) => warnings));
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` And ${others.length} more warnings, which are in its results.`;
  return [[true, `${side}: ${first}${more}`]];
}
