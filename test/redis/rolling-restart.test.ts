import t from 'tap';
import { rollingRestart } from '../services/rolling-restart.ts';

t.test('a rolling restart of two gateways and two query processes', { timeout: 560_000 }, (t) =>
  rollingRestart(t, { workers: 1, restarted: [0, 1, 2, 3] }),
);
