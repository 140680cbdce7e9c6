import type { Log } from '#kernel/log/log.ts';
import { emptyReport, type JanitorReport } from './janitor-report.ts';

/** Milliseconds between two log lines during a run. */
const progressInterval = 30_000;

/** The context of the steps of one run of the janitor. */
export interface JanitorRun {
  readonly report: JanitorReport;
  readonly dryRun: boolean;
  /** Examine every object, however long that takes: a run from the command line. */
  readonly whole: boolean;
  /** Aborted when the process stops, and when its lock is lost. */
  readonly signal: AbortSignal;
  /** Does one action; a failure is counted and left to the next run. Rejects when the signal is aborted. */
  attempt(what: string, work: () => Promise<void>): Promise<void>;
}

/** Runs the steps in order and logs progress. Rejects when the signal is aborted. */
export async function runSteps(
  args: { dryRun: boolean; whole: boolean; signal: AbortSignal; log: Log },
  steps: Readonly<Record<string, (run: JanitorRun) => Promise<void>>>,
): Promise<JanitorReport> {
  const { dryRun, whole, signal, log } = args;
  const started = performance.now();
  const report = emptyReport(dryRun);
  const run: JanitorRun = {
    report,
    dryRun,
    whole,
    signal,
    async attempt(what, work) {
      try {
        await work();
      } catch (error) {
        if (signal.aborted) throw error;
        report.failures++;
        log.warn({ err: error, what }, 'an action of the janitor failed');
      }
    },
  };
  let step = '';
  const progressTimer = setInterval(
    () => log.info({ step, report }, 'the janitor is running'),
    progressInterval,
  );
  try {
    for (const [name, work] of Object.entries(steps)) {
      step = name;
      await run.attempt(name, () => work(run));
    }
  } finally {
    clearInterval(progressTimer);
  }
  report.milliseconds = Math.round(performance.now() - started);
  log.info({ report }, 'the janitor is done');
  return report;
}
