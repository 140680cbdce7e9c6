import t from 'tap';
import { LoginThrottle, loginThrottleDefaults } from '#auth/login-throttle.ts';
import { rejectionOf } from '../services/rejection-of.ts';

const { signal } = new AbortController();
const right = async (): Promise<string | null> => 'user';
const wrong = async (): Promise<string | null> => null;

/** A throttle whose clock stands still until it is told to go on. */
function stillThrottle(more: Partial<typeof loginThrottleDefaults> = {}) {
  const clock = { now: 0 };
  const options = { ...loginThrottleDefaults, longestWait: 0, ...more };
  const throttle = new LoginThrottle(options, { now: () => clock.now });
  const attempt = (key: string, work = wrong) =>
    throttle.run(key, work, new AbortController().signal).then(
      (result) => result ?? 'refused',
      (error: { status: number; headers: Record<string, string> }) =>
        `${error.status} ${error.headers['retry-after']}`,
    );
  return { clock, throttle, attempt };
}

/** A piece of work that ends when it is told to. */
function gate() {
  let open: (result: string | null) => void = () => {};
  const opened = new Promise<string | null>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

t.test('failures double the delay, up to the longest', async (t) => {
  const { clock, attempt } = stillThrottle();
  for (let i = 0; i < 3; i++) t.equal(await attempt('ada'), 'refused');
  t.equal(await attempt('ada'), 'refused', 'the first that costs');
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    t.match(await attempt('ada'), /^429/);
    const before = clock.now;
    while ((await attempt('ada')) !== 'refused') clock.now += 250;
    waits.push(clock.now - before);
  }
  t.strictSame(waits, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

t.test('a refused attempt is told when to come back, and is not looked at', async (t) => {
  const { attempt } = stillThrottle({ firstDelay: 8000 });
  for (let i = 0; i < 4; i++) await attempt('ada');
  let looked = 0;
  const counting = async (): Promise<string | null> => {
    looked++;
    return 'user';
  };
  t.equal(await attempt('ada', counting), '429 8');
  t.equal(looked, 0);
});

t.test('identities do not delay each other', async (t) => {
  const { attempt } = stillThrottle();
  for (let i = 0; i < 8; i++) await attempt('ada');
  t.match(await attempt('ada', right), /^429/);
  t.equal(await attempt('grace', right), 'user');
});

t.test('a success forgets the failures', async (t) => {
  const { attempt, clock } = stillThrottle();
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 4; i++) t.equal(await attempt('ada'), 'refused');
    clock.now += 250;
    t.equal(await attempt('ada', right), 'user');
  }
});

t.test('an exception is no failure', async (t) => {
  const { throttle, attempt } = stillThrottle();
  for (let i = 0; i < 20; i++) {
    await t.rejects(
      throttle.run('ada', () => Promise.reject(new Error('away')), signal),
      { message: 'away' },
    );
  }
  t.equal(await attempt('ada', right), 'user');
});

t.test('many at once get no more free attempts than one after another', async (t) => {
  const { throttle, clock } = stillThrottle({ longestWait: 5000 });
  let looked = 0;
  const first = gate();
  const slow = async (): Promise<string | null> => {
    looked++;
    return first.opened;
  };
  const all = Array.from({ length: 50 }, () =>
    throttle.run('ada', slow, new AbortController().signal).then(
      () => 'refused',
      (error: { status: number }) => String(error.status),
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(looked, 3);
  clock.now = 1;
  first.open(null);
  const results = await Promise.all(all);
  const refused = results.filter((result) => result === 'refused').length;
  // the clock stands, so the delays add up to more than anyone waits
  t.ok(refused >= 4 && refused <= 10, String(refused));
  t.equal(results.filter((result) => result === '429').length, 50 - refused);
  t.equal(looked, refused);
});

t.test('many good attempts at once all succeed', async (t) => {
  const throttle = new LoginThrottle();
  // a signal for each, as requests have
  const each = () => throttle.run('ada', right, new AbortController().signal);
  const results = await Promise.all(Array.from({ length: 100 }, each));
  t.equal(results.filter((result) => result === 'user').length, 100);
});

t.test('the number that waits is bounded, for one identity and for all', async (t) => {
  const throttle = new LoginThrottle({ ...loginThrottleDefaults, waitersPerIdentity: 2, waiters: 3 });
  const held = gate();
  const outcome = (key: string) =>
    throttle
      .run(key, () => held.opened, new AbortController().signal)
      .then(
        (result) => result,
        (error: { status: number }) => error.status,
      );
  const running = [outcome('ada'), outcome('ada'), outcome('ada'), outcome('grace'), outcome('grace')];
  const waiting = [outcome('ada'), outcome('ada')];
  t.equal(await outcome('ada'), 429);
  running.push(outcome('grace'));
  waiting.push(outcome('grace'));
  t.equal(await outcome('grace'), 503);
  held.open('user');
  t.strictSame(await Promise.all([...running, ...waiting]), Array(9).fill('user'));
  t.equal(await outcome('grace'), 'user', 'nothing is left behind');
});

t.test('a client that disconnects leaves the queue', async (t) => {
  const throttle = new LoginThrottle();
  const held = gate();
  const running = Array.from({ length: 3 }, () => throttle.run('ada', () => held.opened, signal));
  const controller = new AbortController();
  let looked = false;
  const gone = throttle.run(
    'ada',
    async () => {
      looked = true;
      return null;
    },
    controller.signal,
  );
  controller.abort(new Error('the client went away'));
  await t.rejects(gone, { message: 'the client went away' });
  held.open('user');
  await Promise.all(running);
  t.equal(looked, false);
  await t.rejects(throttle.run('ada', right, controller.signal), { message: 'the client went away' });
  t.equal(await throttle.run('ada', right, signal), 'user');
});

t.test('a wait for the turn ends', async (t) => {
  const throttle = new LoginThrottle({ ...loginThrottleDefaults, longestWait: 20 });
  const held = gate();
  const running = Array.from({ length: 3 }, () => throttle.run('ada', () => held.opened, signal));
  t.match(await rejectionOf(throttle.run('ada', right, signal)), { status: 429, code: 'too_many_attempts' });
  held.open('user');
  await Promise.all(running);
});

t.test('a short delay is waited for', async (t) => {
  const throttle = new LoginThrottle({ ...loginThrottleDefaults, firstDelay: 30 });
  // the delay counts from the last failure, which comes after this
  const before = performance.now();
  for (let i = 0; i < 4; i++) await throttle.run('ada', wrong, signal);
  t.equal(await throttle.run('ada', right, signal), 'user');
  t.ok(performance.now() - before >= 28);
});

t.test('the memory for identities is bounded', async (t) => {
  const { attempt } = stillThrottle({ identities: 10 });
  for (let i = 0; i < 4; i++) await attempt('ada');
  t.match(await attempt('ada'), /^429/);
  for (let i = 0; i < 20; i++) await attempt(`guess ${i}`);
  t.equal(await attempt('ada'), 'refused', 'forgotten by then');
});
