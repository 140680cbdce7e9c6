import t from 'tap';
import { Attempt } from '#kernel/limits/deadline.ts';
import { S3Failure } from '#objects/s3/s3-failure.ts';
import { type S3Timing, s3Timing } from '#objects/s3/s3-options.ts';
import { type RetryLimits, retrying } from '#objects/s3/s3-retry.ts';

const never = new AbortController().signal;
const timing = (more: Partial<S3Timing>) => ({ ...s3Timing(), ...more });
const quick = timing({ firstPause: 0, longestPause: 0, quiet: 600_000 });
const slow = timing({ firstPause: 2e9, longestPause: 2e9, quiet: 1e12 });
const ample = { total: 600_000, attempt: 600_000 };
const busy = () => new S3Failure(503, 'SlowDown', 'busy');
/** Tries the work, which hears how often it was tried. */
async function tried(
  work: (tries: number, attempt: Attempt) => Promise<unknown>,
  {
    timing = quick,
    limits = ample,
    signal = never,
  }: Partial<{ timing: S3Timing; limits: RetryLimits; signal: AbortSignal }> = {},
) {
  let tries = 0;
  const [outcome] = await Promise.allSettled([
    retrying(timing, limits, signal, (attempt) => work(++tries, attempt)),
  ]);
  return { tries, ...outcome };
}
const failing = (error: unknown) => async () => {
  throw error;
};
const hang = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))));

t.test('tries until it succeeds', async (t) => {
  const outcome = await tried((tries) => (tries < 7 ? Promise.reject(busy()) : Promise.resolve('done')));
  t.strictSame(outcome, { tries: 7, status: 'fulfilled', value: 'done' });
});

t.test('does not try again what can not succeed', async (t) => {
  const refused = new S3Failure(403, 'AccessDenied', 'no');
  t.strictSame(await tried(failing(refused)), { tries: 1, status: 'rejected', reason: refused });
});

t.test('an attempt that hangs is cut and tried again; the last failure is told', async (t) => {
  const limits = { total: 300, attempt: 20 };
  const { tries, ...outcome } = await tried((_, { signal }) => hang(signal), { limits });
  t.match(outcome, { reason: { name: 'DeadlinePassed' } });
  t.ok(tries > 1, `${tries}`);
});

t.test('gives up before a pause that would end too late', async (t) => {
  const limits = { total: 50, attempt: 50 };
  t.match(await tried(failing(busy()), { timing: slow, limits }), { tries: 1, reason: { code: 'SlowDown' } });
});

t.test('never tries again once the signal is aborted', async (t) => {
  for (const abortIn of ['the attempt', 'the pause'] as const) {
    const controller = new AbortController();
    const { signal } = controller;
    const limits = { total: Number.MAX_SAFE_INTEGER, attempt: 600_000 };
    const work = async (_: number, attempt: Attempt) => {
      if (abortIn === 'the pause') {
        setImmediate(() => controller.abort(new Error('gone')));
        throw busy();
      }
      controller.abort(new Error('gone'));
      t.ok(attempt.stopped);
      throw busy();
    };
    const outcome = await tried(work, { timing: slow, limits, signal });
    t.match(outcome, { tries: 1, reason: { message: 'gone' } }, abortIn);
  }
  const late = await tried(async () => {}, { signal: AbortSignal.abort(new Error('gone')) });
  t.match(late, { tries: 0, reason: { message: 'gone' } });
});

t.test('an attempt may come to its end after the abort, within the grace', async (t) => {
  const limits = { ...ample, grace: 600_000 };
  const controller = new AbortController();
  const done = await tried(
    async (_, attempt) => {
      controller.abort(new Error('gone'));
      t.notOk(attempt.stopped);
      t.notOk(attempt.signal.aborted);
      return 'done';
    },
    { limits, signal: controller.signal },
  );
  t.match(done, { value: 'done' });

  const cut = new AbortController();
  const hanging = (_: number, { signal }: Attempt) => {
    cut.abort(new Error('gone'));
    return hang(signal);
  };
  const ended = await tried(hanging, { limits: { ...ample, grace: 1 }, signal: cut.signal });
  t.match(ended, { reason: { message: 'gone' } });

  const failed = new AbortController();
  const refused = await tried(
    async () => {
      failed.abort(new Error('gone'));
      throw busy();
    },
    { limits, signal: failed.signal },
  );
  t.match(refused, { tries: 1, reason: { message: 'gone' } });
});

t.test('a wrong clock is worth one more attempt', async (t) => {
  const skewed = new S3Failure(403, 'RequestTimeTooSkewed', 'late');
  t.strictSame(await tried(failing(skewed)), { tries: 2, status: 'rejected', reason: skewed });
});

t.test('an attempt tells all who ask that it was stopped, once, and why', async (t) => {
  const attempt = new Attempt();
  let calls = 0;
  attempt.onStop = () => calls++;
  const early = attempt.signal;
  attempt.throwIfStopped();
  attempt.stop(new Error('first'));
  attempt.stop(new Error('second'));
  t.equal(calls, 1);
  t.throws(() => attempt.throwIfStopped(), { message: 'first' });
  t.match(
    [attempt.stopped, attempt.reason, early.reason],
    [true, { message: 'first' }, { message: 'first' }],
  );
  const late = new Attempt();
  late.stop(new Error('gone'));
  t.match(late.signal, { aborted: true, reason: { message: 'gone' } });
});

t.test('no listener stays on the signal', async (t) => {
  const { signal } = new AbortController();
  const added = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    added.add(args[1]);
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    added.delete(args[1]);
    remove(...args);
  };
  let tries = 0;
  await retrying(quick, ample, signal, async () => {
    t.ok(added.size > 0);
    if (++tries < 3) throw busy();
  });
  t.equal(added.size, 0);
});

t.test('times follow from that of a request', async (t) => {
  t.strictSame(s3Timing(), {
    request: 60_000,
    connect: 5_000,
    quiet: 15_000,
    answered: { at: 0 },
    settle: 2_000,
    cleanup: 30_000,
    firstPause: 100,
    longestPause: 5_000,
  });
  t.match(s3Timing({ request: 1_000 }), { request: 1_000, connect: 250, quiet: 250, cleanup: 1_000 });
  t.match(s3Timing({ request: 1_000, quiet: 7 }), { quiet: 7 });
});

t.test('S3 that answers nothing at all for long is away, and not tried again', async (t) => {
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  const away = timing({ firstPause: 5, longestPause: 5, quiet: 0 });
  t.match(await tried(failing(refused), { timing: away }), { tries: 1, reason: refused });
});

t.test('S3 that answers, if only that it is busy, is tried again', async (t) => {
  const answering = timing({ firstPause: 1, longestPause: 1, quiet: 1000 });
  const work = async (tries: number) => {
    if (tries < 4) throw busy();
  };
  t.match(await tried(work, { timing: answering }), { tries: 4, status: 'fulfilled' });
  t.ok(answering.answered.at > 0);
});
