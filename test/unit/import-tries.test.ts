/** An import that was refused because something was away, or busy, had failed for good. */
import t from 'tap';
import { RedisFailure } from '#coordination/redis/redis-connection.ts';
import {
  databaseUnavailable,
  deadlineExceeded,
  overloaded,
  quotaExceeded,
  storageFull,
  unavailable,
} from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';
import { FileProblem } from '#query/imports/formats/file-problem.ts';
import type { ImportJob, JobState } from '#query/imports/jobs/import-job.ts';
import { JobRun, type JobRunParts } from '#query/imports/jobs/job-run.ts';
import { silentLog } from '../services/silent-log.ts';

const forever = 3_600_000;

/** A run that fails with some errors, one a try, and then finds that its space is gone. */
function runOf(
  errors: readonly Error[],
  { state = 'waiting' as JobState, pause = 1, during = forever } = {},
) {
  const left = [...errors];
  const states: string[] = [];
  const closing = new AbortController();
  let onFailed: () => void = () => {};
  const failed = new Promise<void>((resolve) => {
    onFailed = resolve;
  });
  let held = 0;
  const deps = {
    log: silentLog(),
    now: () => 0,
    closing: closing.signal,
    tidy: async () => void states.push('tidied'),
    tries: { pause, longestPause: pause, during },
    table: {
      store: async (job: ImportJob) => {
        states.push(job.error ?? job.state);
        onFailed();
      },
      isStopRequested: async () => false,
    },
    slots: {
      take: async (signal: AbortSignal) => {
        signal.throwIfAborted();
        held++;
        return () => void held--;
      },
    },
    spaces: {
      find: async () => {
        const error = left.shift();
        if (error === undefined) return null;
        if (state === 'publishing') onFailed();
        throw error;
      },
    },
  } as unknown as JobRunParts;
  const run = new JobRun(deps, { id: 'job', state, version: 1 } as ImportJob);
  return { run, states, failed, closing, held: () => held };
}

const gone = 'The record space is gone';
const busy = overloaded('the structure of the record space is being changed');

t.test('what passes puts a job back, and it is tried again', async (t) => {
  const cause = new Error('ECONNRESET');
  const passing = [
    ...[busy, databaseUnavailable(cause), unavailable('Redis is away'), deadlineExceeded(1)],
    ...[new UnknownOutcome(cause), new RedisFailure('away', true), new DeadlinePassed('no answer', 1)],
    new DOMException('The operation was aborted due to timeout', 'TimeoutError'),
  ];
  const { run, states, held } = runOf(passing);
  await run.run();
  t.strictSame(states, [...passing.map(() => 'waiting'), gone, 'tidied']);
  t.equal(held(), 0, 'it keeps no place while it waits');
});

t.test('what is refused again is not', async (t) => {
  for (const error of [
    ...[new FileProblem(1, 'it is no CSV'), quotaExceeded('1 byte'), storageFull(), new TypeError('a bug')],
  ]) {
    const { run, states } = runOf([error]);
    await run.run();
    t.equal(states.length, 2, error.message);
    t.equal(run.job.state, 'failed');
  }
});

t.test('nothing is tried for ever', async (t) => {
  const { run, states } = runOf([busy, busy], { during: 0 });
  await run.run();
  t.strictSame(states, [busy.message, 'tidied']);
});

t.test('a job that waits is cancelled at once', async (t) => {
  const { run, states, failed } = runOf([busy], { pause: forever });
  void run.run();
  await failed;
  await run.cancel(forever);
  t.strictSame(states, ['waiting', 'cancelled', 'tidied']);
});

t.test('a server that stops leaves it to the next one', async (t) => {
  const { run, states, failed, closing } = runOf([busy], { pause: forever });
  const over = run.run();
  await failed;
  closing.abort();
  await over;
  t.strictSame(states, ['waiting']);
  const late = runOf([busy]);
  late.closing.abort();
  await late.run.run();
  t.strictSame(late.states, [], 'also one that begins then');
});

t.test('an import that is being published is tried until it is known what became of it', async (t) => {
  const { run, states } = runOf([busy, new TypeError('a bug')], { state: 'publishing' });
  const over = run.run();
  await run.cancel(0);
  await over;
  t.strictSame(states, [gone, 'tidied']);
  const stopped = runOf([busy], { state: 'publishing', pause: forever });
  const end = stopped.run.run();
  await stopped.failed;
  stopped.closing.abort();
  await end;
  t.strictSame(stopped.states, []);
});
