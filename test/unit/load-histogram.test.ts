import t from 'tap';
import { percentileOf } from '../../load/run/histogram.ts';

t.test('percentiles of a list of times', async (t) => {
  const times = Array.from({ length: 1000 }, (_, at) => 1000 - at - 0.5);
  for (const [percent, expected] of [
    [50, 499.5],
    [99, 989.5],
    [100, 999.5],
  ] as const)
    t.ok(Math.abs(percentileOf(times, percent) / expected - 1) < 0.002, `${percent} %`);
  t.ok(Number.isNaN(percentileOf([], 50)), 'of none');
  const lost = percentileOf([1, Number.POSITIVE_INFINITY], 100);
  t.ok(Math.abs(lost / 3_600_000 - 1) < 0.002, 'what took longer counts as an hour');
});
