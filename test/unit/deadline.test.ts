import { getEventListeners } from 'node:events';
import t from 'tap';
import {
  type Attempt,
  createSharedDeadline,
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

t.test('many requests to a store may wait for a shared deadline', async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const signal = createSharedDeadline(60_000)();
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const requests = Array.from({ length: 20 }, () => withDeadline(signal, 60_000, () => over));
  t.equal(getEventListeners(signal, 'abort').length, 20);
  end();
  await Promise.all(requests);
  // warnings are emitted in a later turn
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame(warnings, []);
  t.equal(getEventListeners(signal, 'abort').length, 0);
});
