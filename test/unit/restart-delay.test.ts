import t from 'tap';
import { restartDelay } from '../../common/lifecycle/workers/restart-delay.ts';

t.test('delays double up to a bound, and are spread over their upper half', async (t) => {
  const least = [1, 2, 3, 9, 10, 1000].map((failures) => restartDelay(failures, () => 0));
  t.strictSame(least, [50, 100, 200, 12_800, 15_000, 15_000]);
  const most = [1, 2, 3, 9, 10, 1000].map((failures) => restartDelay(failures, () => 1));
  t.strictSame(most, [100, 200, 400, 25_600, 30_000, 30_000]);
  const delays = new Set(Array.from({ length: 50 }, () => restartDelay(5)));
  t.ok(delays.size > 1, 'they differ');
});
