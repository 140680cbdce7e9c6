import t from 'tap';
import { rollingRestart } from '../services/rolling-restart.ts';

t.test('a rolling restart of processes with two workers each', { timeout: 560_000 }, (t) =>
  rollingRestart(t, { workers: 2, restarted: [0, 2] }),
);
