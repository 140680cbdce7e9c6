import type { Log } from '#kernel/log/log.ts';
import { emptyReport, type JanitorReport } from './janitor-report.ts';

/** Milliseconds between two log lines during a run. */
const tellEvery = 30_000;

/** The context of the steps of one run of the janitor. */
export interface JanitorRun {
  readonly report: JanitorReport;
  readonly dryRun: boolean;
  /** It runs to the end, however long that takes: somebody asked for it. */
  readonly whole: boolean;
  /** Aborted with the process, and once another process may begin a run. */
  readonly signal: AbortSignal;
  /** Does one thing; a failure is counted and left to the next run. Rejects when the signal is aborted. */
  attempt(what: string, work: () => Promise<void>): Promise<void>;
}

/** Does the steps of a run one after the other, and logs its progress. Rejects when the signal is aborted. */
export async function runSteps(
  args: { dryRun: boolean; whole: boolean; signal: AbortSignal; log: Log },
  steps: Readonly<Record<string, (run: JanitorRun) => Promise<void>>>,
): Promise<JanitorReport> {
  const { dryRun, whole, signal, log } = args;
  const started = performance.now();
  const report = emptyReport(dryRun);
  const run: JanitorRun = {
    ...{ report, dryRun, whole, signal },
    async attempt(what, work) {
      try {
        await work();
      } catch (error) {
        if (signal.aborted) throw error;
        report.failures++;
        log.warn({ err: error, what }, 'the janitor could not do something');
      }
    },
  };
  let step = '';
  const teller = setInterval(() => log.info({ step, report }, 'the janitor goes on'), tellEvery);
  try {
    for (const [name, work] of Object.entries(steps)) {
      step = name;
      await run.attempt(name, () => work(run));
    }
  } finally {
    clearInterval(teller);
  }
  report.milliseconds = Math.round(performance.now() - started);
  log.info({ report }, 'the janitor is done');
  return report;
}
