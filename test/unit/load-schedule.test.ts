import t from 'tap';
import { missedCondition, parseCapacityGoal } from '../../load/run/capacity-goal.ts';
import { CapacitySearch, type CapacityTrials } from '../../load/run/capacity-search.ts';
import { RunningTotals } from '../../load/run/running-totals.ts';
import { Schedule } from '../../load/run/schedule.ts';

t.test('an even schedule', async (t) => {
  const schedule = new Schedule(200, 200, 3);
  t.equal(schedule.requests, 600);
  t.equal(schedule.startOf(0), 0);
  t.equal(schedule.startOf(599), 2995);
});

t.test(
  'rates that are no whole numbers: all requests that start before the end, and the first at once',
  async (t) => {
    for (const [rate, seconds, requests] of [
      [0.2, 1, 1],
      [0.2, 10, 2],
      [0.25, 10, 3],
      [2.5, 1, 3],
      [0.1, 30, 3],
      [1 / 3, 3, 1],
    ] as const) {
      const schedule = new Schedule(rate, rate, seconds);
      t.equal(schedule.requests, requests, `${rate} a second for ${seconds} s`);
      t.ok(schedule.startOf(requests - 1) < seconds * 1000);
      t.ok(schedule.startOf(requests) >= seconds * 1000 - 1e-6);
    }
  },
);

t.test('a ramp: as many requests as the area under it, and none before its time', async (t) => {
  for (const [from, to] of [
    [10, 100],
    [100, 10],
    [50, 50.0001],
  ] as const) {
    const seconds = 4;
    const schedule = new Schedule(from, to, seconds);
    t.equal(schedule.requests, Math.ceil(((from + to) / 2) * seconds));
    for (let index = 0; index < schedule.requests; index++) {
      const at = schedule.startOf(index) / 1000;
      const due = from * at + ((to - from) / seconds / 2) * at * at;
      t.ok(Math.abs(due - index) < 1e-6, `${index} starts when it is due`);
      t.ok(at < seconds);
    }
  }
});

t.test('goals', async (t) => {
  t.strictSame(parseCapacityGoal('p99 < 50ms, errors < 0.1 %').conditions, [
    { kind: 'latency', percent: 99, milliseconds: 50 },
    { kind: 'errors', share: 0.001 },
  ]);
  t.match(parseCapacityGoal('p999<1.5 s').conditions, [{ percent: 99.9, milliseconds: 1500 }]);
  t.match(parseCapacityGoal('p99.9 < 2 s').conditions, [{ percent: 99.9 }]);
  for (const bad of ['', 'p99', 'p99 > 50ms', 'latency < 5ms', 'p99 < 50', 'errors < 1'])
    t.throws(() => parseCapacityGoal(bad), { message: /is not understood; write it as/ });
});

t.test('which condition was missed', async (t) => {
  const goal = parseCapacityGoal('p90 < 50 ms, errors < 10 %');
  const totals = new RunningTotals();
  t.equal(missedCondition(goal, totals), 'nothing was answered');
  for (let at = 0; at < 95; at++) totals.addOutcome(true, 10_000, 10_000);
  t.equal(missedCondition(goal, totals), null);
  for (let at = 0; at < 5; at++) totals.addOutcome(false, 10_000, 10_000);
  t.equal(missedCondition(goal, totals), null);
  for (let at = 0; at < 20; at++) totals.addOutcome(true, 90_000, 10_000);
  t.match(missedCondition(goal, totals), /^p90 was 90\.\d ms$/);
  for (let at = 0; at < 900; at++) totals.addOutcome(at % 2 === 0, 10_000, 10_000);
  t.match(missedCondition(goal, totals), /^44\.\d % of the requests failed$/);
});

/** A server that answers in time up to a rate, which it may not keep up for long. */
function trialsOf(capacity: number, lasting = capacity, alone = 100): CapacityTrials {
  return {
    signal: new AbortController().signal,
    baseline: async () => alone,
    tryRate: async (_name, rate, seconds) => {
      const totals = new RunningTotals();
      totals.addOutcome(true, rate > (seconds > 10 ? lasting : capacity) ? 90_000 : 1000, 1000);
      return { totals, seconds, toolProblem: null };
    },
  };
}

const goal = parseCapacityGoal('p99 < 50ms');
const times = { baseline: 5, step: 10, confirmation: 60 };

t.test('the search finds a rate within 5 % of the highest, and says how', async (t) => {
  for (const [capacity, alone] of [
    [730, 100],
    [12_345, 20],
    [42, 100],
    [100, 100],
    [0.3, 0.4],
  ] as const) {
    const search = new CapacitySearch(goal, times, trialsOf(capacity, capacity, alone), () => {});
    const { rate, steps } = await search.run();
    t.ok(rate !== null && rate <= capacity && rate >= capacity * 0.94, `${rate} of ${capacity}`);
    t.match(steps.at(-1), { met: true, seconds: 60, why: 'it met the goal' });
    t.ok(steps.some(({ met, why }) => !met && why === 'p99 was 90.0 ms'));
  }
});

t.test('a rate that does not last is lowered', async (t) => {
  const { rate, steps } = await new CapacitySearch(goal, times, trialsOf(1000, 880), () => {}).run();
  t.ok(rate !== null && rate <= 880 && rate > 700, `${rate}`);
  t.ok(steps.filter(({ seconds }) => seconds === 60).length > 1);
});

t.test('a server that never meets the goal', async (t) => {
  const { rate, steps } = await new CapacitySearch(goal, times, trialsOf(0), () => {}).run();
  t.equal(rate, null);
  t.ok(steps.length > 0 && steps.every(({ met }) => !met));
});
