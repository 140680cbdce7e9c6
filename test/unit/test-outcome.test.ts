import t from 'tap';
import { outcomeOf } from '../services/test-outcome.ts';

t.test('a test that never ended fails its file, though the process ended well', async (t) => {
  const output =
    'TAP version 14\n# Subtest: waits\n    not ok 1 - test unfinished\n    1..1\nnot ok 1 - waits\n1..1\n';
  t.strictSame(outcomeOf(0, output), { passed: 0, failed: 2 });
});

t.test('a process that failed fails its file, whatever its tests say', async (t) => {
  t.strictSame(outcomeOf(null, 'ok 1 - killed afterwards\n'), { passed: 1, failed: 1 });
  t.strictSame(outcomeOf(0, '    ok 1 - inner\nok 1 - outer\n1..1\n'), { passed: 2, failed: 0 });
});
