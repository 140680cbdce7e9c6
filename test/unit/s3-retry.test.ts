import t from 'tap';
import { Attempt } from '../../common/limits/deadline.ts';
import { S3Failure } from '../../common/object-store/s3/s3-failure.ts';
import { type S3Timing, s3Timing } from '../../common/object-store/s3/s3-options.ts';
import { retrying } from '../../common/object-store/s3/s3-retry.ts';

const never = new AbortController().signal;
const timing = (more: Partial<S3Timing>) => ({ ...s3Timing(), ...more });
const quick = timing({ firstPause: 0, longestPause: 0, quiet: 600_000 });
const ample = { total: 600_000, attempt: 600_000 };
const busy = () => new S3Failure(503, 'SlowDown', 'busy');
const hang = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))));

t.test('tries until it succeeds', async (t) => {
  let tries = 0;
  const result = await retrying(quick, ample, never, async () => {
    if (++tries < 7) throw busy();
    return 'done';
  });
  t.equal(result, 'done');
  t.equal(tries, 7);
});

t.test('does not try again what can not succeed', async (t) => {
  let tries = 0;
  const refused = new S3Failure(403, 'AccessDenied', 'no');
  const failing = retrying(quick, ample, never, async () => {
    tries++;
    throw refused;
  });
  await t.rejects(failing, refused);
  t.equal(tries, 1);
});

t.test('an attempt that hangs is cut and tried again; the last failure is told', async (t) => {
  let tries = 0;
  await t.rejects(
    retrying(quick, { total: 300, attempt: 20 }, never, ({ signal }) => {
      tries++;
      return hang(signal);
    }),
    { name: 'DeadlinePassed' },
  );
  t.ok(tries > 1, `${tries}`);
});

t.test('gives up before a pause that would end too late', async (t) => {
  let tries = 0;
  const failing = retrying(
    timing({ firstPause: 2e9, longestPause: 2e9, quiet: 1e12 }),
    { total: 50, attempt: 50 },
    never,
    async () => {
      tries++;
      throw busy();
    },
  );
  await t.rejects(failing, { code: 'SlowDown' });
  t.equal(tries, 1);
});

t.test('never tries again once the signal is aborted', async (t) => {
  for (const abortIn of ['the attempt', 'the pause'] as const) {
    const controller = new AbortController();
    let tries = 0;
    const slow = timing({ firstPause: 2e9, longestPause: 2e9, quiet: 1e12 });
    const pauses = { total: Number.MAX_SAFE_INTEGER, attempt: 600_000 };
    const failing = retrying(slow, pauses, controller.signal, async (attempt) => {
      tries++;
      if (abortIn === 'the pause') {
        setImmediate(() => controller.abort(new Error('gone')));
        throw busy();
      }
      controller.abort(new Error('gone'));
      t.ok(attempt.stopped);
      throw busy();
    });
    await t.rejects(failing, { message: 'gone' });
    t.equal(tries, 1, abortIn);
  }
  let called = false;
  const late = retrying(quick, ample, AbortSignal.abort(new Error('gone')), async () => {
    called = true;
  });
  await t.rejects(late, { message: 'gone' });
  t.notOk(called);
});

t.test('an attempt may come to its end after the abort, within the grace', async (t) => {
  const controller = new AbortController();
  const limits = { ...ample, grace: 600_000 };
  const result = await retrying(quick, limits, controller.signal, async (attempt) => {
    controller.abort(new Error('gone'));
    t.notOk(attempt.stopped);
    t.notOk(attempt.signal.aborted);
    return 'done';
  });
  t.equal(result, 'done');

  const cut = new AbortController();
  const hanging = retrying(quick, { ...ample, grace: 1 }, cut.signal, ({ signal }) => {
    cut.abort(new Error('gone'));
    return hang(signal);
  });
  await t.rejects(hanging, { message: 'gone' });

  let tries = 0;
  const failed = new AbortController();
  const failing = retrying(quick, limits, failed.signal, async () => {
    tries++;
    failed.abort(new Error('gone'));
    throw busy();
  });
  await t.rejects(failing, { message: 'gone' });
  t.equal(tries, 1);
});

t.test('a wrong clock is worth one more attempt', async (t) => {
  let tries = 0;
  const failing = retrying(quick, ample, never, async () => {
    tries++;
    throw new S3Failure(403, 'RequestTimeTooSkewed', 'late');
  });
  await t.rejects(failing, { code: 'RequestTimeTooSkewed' });
  t.equal(tries, 2);
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
  let tries = 0;
  const away = timing({ firstPause: 5, longestPause: 5, quiet: 0 });
  const failing = retrying(away, ample, never, async () => {
    tries++;
    throw refused;
  });
  await t.rejects(failing, refused);
  t.equal(tries, 1);
});

t.test('S3 that answers, if only that it is busy, is tried again', async (t) => {
  let tries = 0;
  const answering = timing({ firstPause: 1, longestPause: 1, quiet: 1000 });
  await retrying(answering, ample, never, async () => {
    if (++tries < 4) throw busy();
  });
  t.equal(tries, 4);
  t.ok(answering.answered.at > 0);
});
