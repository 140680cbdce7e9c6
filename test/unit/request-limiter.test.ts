import t from 'tap';
import { RequestLimiter } from '#coordination/rate-limits/request-limiter.ts';
import { type SharedLimiter, unsharedLimiter } from '#coordination/rate-limits/shared-limiter.ts';
import { ApiError } from '#kernel/errors/api-error.ts';

function limiter(
  limits: { rate?: number; burst?: number; inFlight?: number },
  shared: SharedLimiter = unsharedLimiter,
) {
  const clock = { now: 1000 };
  const all = { rate: 0, burst: 1, inFlight: 0, ...limits };
  const requests = new RequestLimiter({ limits: all, shared, now: () => clock.now });
  const ends: (() => void)[] = [];
  /** 'ok', or the Retry-After. */
  const ask = async (sender = 'a'): Promise<string> => {
    try {
      await requests.admit(sender, (end) => ends.push(end));
      return 'ok';
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'rate_limited' || error.status !== 429) throw error;
      return error.headers['retry-after'] as string;
    }
  };
  return { ask, clock, ends };
}

t.test('a burst goes through, and then the rate', async (t) => {
  const { ask, clock } = limiter({ rate: 2, burst: 3 });
  t.strictSame([await ask(), await ask(), await ask(), await ask()], ['ok', 'ok', 'ok', '1']);
  t.equal(await ask('b'), 'ok', 'of one sender');
  clock.now += 499;
  t.equal(await ask(), '1');
  clock.now += 1;
  t.strictSame([await ask(), await ask()], ['ok', '1']);
  clock.now += 3600_000;
  t.strictSame([await ask(), await ask(), await ask(), await ask()], ['ok', 'ok', 'ok', '1'], 'never more');
});

t.test('Retry-After is when the next request is admitted, in whole seconds', async (t) => {
  const { ask, clock } = limiter({ rate: 1, burst: 1 });
  await ask();
  t.equal(await ask(), '1');
  clock.now += 1000;
  t.equal(await ask(), 'ok');
});

t.test('requests in flight count until they are over, once', async (t) => {
  const { ask, ends } = limiter({ inFlight: 2 });
  t.strictSame([await ask(), await ask(), await ask()], ['ok', 'ok', '1']);
  t.equal(ends.length, 2, 'what was refused is not counted');
  ends[0]?.();
  ends[0]?.();
  t.strictSame([await ask(), await ask()], ['ok', '1']);
});

t.test('what is refused for its number in flight costs nothing of the rate', async (t) => {
  const { ask, ends } = limiter({ rate: 1, burst: 2, inFlight: 1 });
  await ask();
  for (let i = 0; i < 10; i++) t.equal(await ask(), '1');
  ends[0]?.();
  t.equal(await ask(), 'ok');
});

t.test('a million senders take bounded memory, and are let in', async (t) => {
  const { ask } = limiter({ rate: 1, burst: 1 });
  for (let i = 0; i < 200_000; i++) if ((await ask(`sender ${i}`)) !== 'ok') t.fail(`${i}`);
  t.equal(await ask('sender 199999'), '1', 'the last ones are remembered');
  t.equal(await ask('sender 0'), 'ok', 'the first ones are not');
});

t.test('what other processes refuse is refused, and a flood of it asks them seldom', async (t) => {
  let asked = 0;
  const reports: number[] = [];
  let answer: Awaited<ReturnType<SharedLimiter['admit']>> = { wait: 3000 };
  const { ask, clock, ends } = limiter(
    { rate: 1000, burst: 1000, inFlight: 10 },
    {
      wantsReports: true,
      async admit() {
        asked++;
        return answer;
      },
      report: (_, here) => reports.push(here),
    },
  );
  for (let i = 0; i < 100; i++) t.equal(await ask(), '3');
  t.equal(asked, 1);
  t.strictSame(reports, [0], 'and is not in flight');
  clock.now += 3000;
  answer = 'in-flight';
  t.equal(await ask(), '1');
  t.equal(await ask(), '1');
  t.equal(asked, 2);
  clock.now += 100;
  answer = 'admitted';
  t.equal(await ask(), 'ok');
  ends.at(-1)?.();
  t.equal(reports.at(-1), 0);
});
