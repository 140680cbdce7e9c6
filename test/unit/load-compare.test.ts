/** `sluice load compare`: what differs by more than noise, on runs whose truth is known. */
import t from 'tap';
import { type Comparison, compareRuns } from '../../load/compare/compare-runs.ts';
import { describeComparison } from '../../load/compare/describe-comparison.ts';
import { drawnRun, type RunOptions } from '../services/drawn-run.ts';

const pairs = 100;

/** Runs whose seeds nobody else has. */
const runs = (number: number, from: number, options: Omit<RunOptions, 'seed'> = {}) =>
  Array.from({ length: number }, (_, index) => drawnRun({ ...options, seed: from + index }));
const changed = ({ figures }: Comparison): string[] =>
  figures.filter(({ verdict }) => /er$/.test(verdict)).map(({ name, verdict }) => `${name} ${verdict}`);

t.test('equal runs do not differ, in 95 of 100 pairs at least', async (t) => {
  for (const options of [{}, { alike: 0.8, seconds: 240 }]) {
    let wrong = 0;
    for (let pair = 0; pair < pairs; pair++) {
      const comparison = compareRuns(runs(1, 2 * pair, options), runs(1, 2 * pair + 1, options));
      if (changed(comparison).length > 0) wrong++;
    }
    t.ok(wrong <= 5, `${wrong} of ${pairs} with ${JSON.stringify(options)}`);
  }
});

t.test('a latency that is 20 % higher is found, and nothing else', async (t) => {
  let found = 0;
  for (let pair = 0; pair < pairs; pair++) {
    const [before, after] = [
      runs(1, 2 * pair, { alike: 0.2 }),
      runs(1, 2 * pair + 1, { alike: 0.2, tail: 1.2 }),
    ];
    if (changed(compareRuns(before, after)).join() === 'p99 higher') found++;
  }
  t.ok(found >= 95, `${found} of ${pairs}`);
});

t.test('each figure has its direction', async (t) => {
  const base = { alike: 0.2 };
  const worse: readonly (readonly [Partial<RunOptions>, string])[] = [
    [{ perSecond: 800 }, 'requests/s lower,CPU of the target a request higher'],
    [{ p50: 2.4 }, 'p50 higher,p99 higher'],
    [{ errors: 0.01 }, 'errors higher'],
  ];
  for (const [change, wanted] of worse) {
    const [a, b] = [runs(1, 1, base), runs(1, 2, { ...base, ...change })];
    t.equal(changed(compareRuns(a, b)).join(), wanted);
    t.match(describeComparison(compareRuns(a, b)), /B is worse: /);
    t.match(describeComparison(compareRuns(b, a)), /B is better: /);
  }
});

t.test('runs that differ among themselves hide what one run of each side would show', async (t) => {
  const shaky = { betweenRuns: 0.3, alike: 0, noise: 0.05 };
  let [wrongAlone, wrong] = [0, 0];
  for (let pair = 0; pair < 30; pair++) {
    const [a, b] = [runs(4, 10 * pair, shaky), runs(4, 10 * pair + 4, shaky)];
    if (changed(compareRuns(a.slice(0, 1), b.slice(0, 1))).length > 0) wrongAlone++;
    if (changed(compareRuns(a, b)).length > 0) wrong++;
  }
  t.ok(wrongAlone > 20, `${wrongAlone} of 30`);
  t.ok(wrong <= 2, `${wrong} of 30`);
  const [before, after] = [runs(4, 1, { betweenRuns: 0.02 }), runs(4, 5, { betweenRuns: 0.02, p50: 2.4 })];
  t.match(changed(compareRuns(before, after)), ['p50 higher', 'p99 higher']);
});

t.test('it says when there is too little data', async (t) => {
  const short = compareRuns(runs(1, 1, { seconds: 8 }), runs(1, 2, { seconds: 8, p50: 20 }));
  t.strictSame(changed(short), []);
  t.match(
    describeComparison(short),
    /^Too little data for requests\/s, p50, .+: run each side for \d+ s or more\.$/m,
  );
});

t.test(
  'a run without a target that was measured, or without answers, is compared in what it has',
  async (t) => {
    const [run] = runs(1, 1) as [ReturnType<typeof drawnRun>];
    const silent = run.windows.map((window) => ({
      ...window,
      good: 0,
      p50: null,
      p99: null,
      targetCpu: null,
    }));
    const { figures } = compareRuns([run], [{ ...run, windows: silent }]);
    t.strictSame(
      figures.map(({ name, verdict }) => `${name} ${verdict}`),
      [
        ...['requests/s lower', 'p50 too little data', 'p99 too little data'],
        ...['errors higher', 'CPU of the target a request too little data'],
      ],
    );
    const back = describeComparison(compareRuns([{ ...run, windows: silent }], [run]));
    t.match(back, /^B is better: requests\/s 100 % higher, /m);
    t.notMatch(back, /NaN|Infinity/);
    t.doesNotThrow(() =>
      describeComparison(compareRuns([{ ...run, windows: [] }], [{ ...run, windows: [] }])),
    );
  },
);

t.test('words: what differs, what does not, and what makes it doubtful', async (t) => {
  const text = describeComparison(
    compareRuns(runs(2, 1, { alike: 0.2 }), [
      drawnRun({
        seed: 3,
        alike: 0.2,
        p50: 3,
        changes: { machine: 'another', warnings: ['The tool was busy.'] },
      }),
    ]),
  );
  t.match(text, /^A: records against sluice at http:\/\/127\.0\.0\.1:8080: 2 runs, 116 s compared$/m);
  t.match(text, /^B is worse: p50 \d+(\.\d)? % higher, and noise makes up to \d+(\.\d+)? %\.$/m);
  t.match(text, /^No difference larger than the noise: requests\/s, errors/m);
  t.match(text, /^p50 +2\.\d+ ms +[23](\.\d+)? ms +\+\d+(\.\d)? % +±\d+(\.\d+)? % +higher$/m);
  t.match(text, /^The runs are from different machines\.$/m);
  t.match(text, /^B: The tool was busy\.$/m);
});
