import { getEventListeners } from 'node:events';
import t from 'tap';
import {
  type Attempt,
  DeadlinePassed,
  resultWithin,
  settledWithin,
  withDeadline,
} from '#kernel/limits/deadline.ts';

/** Work that fails in its own way as soon as it is stopped, and never ends otherwise. */
const untilStopped = (attempt: Attempt): Promise<never> =>
  new Promise((_, reject) => {
    attempt.onStop = () => reject(new Error('stopped'));
  });
const endless = new Promise<never>(() => {});

t.test('a deadline stops the work, with or without a signal', async (t) => {
  const { signal } = new AbortController();
  await t.rejects(withDeadline(signal, 1, untilStopped), DeadlinePassed);
  await t.rejects(withDeadline(undefined, 1, untilStopped), DeadlinePassed);
  const late = (): Error => new Error('too late');
  await t.rejects(withDeadline(undefined, 1, untilStopped, { late }), { message: 'too late' });
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

t.test('only a deadline is late', async (t) => {
  const late = (): Error => new Error('too late');
  const failing = withDeadline(undefined, 60_000, () => Promise.reject(new Error('it failed')), { late });
  await t.rejects(failing, { message: 'it failed' });
  const controller = new AbortController();
  const aborted = withDeadline(controller.signal, 60_000, untilStopped, { late });
  controller.abort(new Error('gone'));
  await t.rejects(aborted, { message: 'gone' });
});

t.test('a wait ends before the work', async (t) => {
  t.equal(await settledWithin(endless, 1), false);
  t.equal(await resultWithin(endless, 1), null);
  t.equal(await settledWithin(Promise.reject(new Error('it failed')), 60_000), true);
  t.equal(await resultWithin(Promise.resolve('a'), 60_000), 'a');
  await t.rejects(resultWithin(Promise.reject(new Error('it failed')), 60_000), { message: 'it failed' });
});
