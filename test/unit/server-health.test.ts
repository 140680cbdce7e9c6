import t from 'tap';
import { ServerHealth } from '#engine/server-health.ts';

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

t.test('a server is set aside until a probe gets an answer, and each pause is longer', async (t) => {
  let well = false;
  const probes: number[] = [];
  const changes: boolean[] = [];
  const health = new ServerHealth({
    probe: async () => {
      probes.push(performance.now());
      if (!well) throw new Error('away');
      return 'well' as const;
    },
    changed: (usable) => void changes.push(usable),
    times: { firstPause: 40, longestPause: 100 },
  });
  t.teardown(() => health.close());
  t.ok(health.usable);
  const begun = performance.now();
  health.setAside(new Error('x'));
  health.setAside(new Error('once more'));
  t.notOk(health.usable);
  await until(() => probes.length === 3);
  const [first = 0, second = 0, third = 0] = probes;
  t.ok(first - begun >= 38 && second - first >= 78 && third - second >= 98, String(probes));
  well = true;
  await until(() => health.usable);
  t.strictSame(changes, [false, true]);
});

t.test('however many ask whether it answers, it is asked once', async (t) => {
  let probes = 0;
  const health = new ServerHealth({
    probe: async () => {
      probes++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'busy' as const;
    },
  });
  t.teardown(() => health.close());
  t.strictSame(await Promise.all([health.check(), health.check(), health.check()]), ['busy', 'busy', 'busy']);
  t.equal(probes, 1);
});

t.test('one that is closed asks no more', async (t) => {
  let probes = 0;
  const health = new ServerHealth({
    probe: async () => {
      probes++;
      return 'well' as const;
    },
    times: { firstPause: 20 },
  });
  health.setAside(new Error('x'));
  health.close();
  await new Promise((resolve) => setTimeout(resolve, 60));
  t.equal(probes, 0);
});

t.test('one that is busy answers, and is not used again before it is well', async (t) => {
  const states = ['busy', 'busy', 'well'] as const;
  let probes = 0;
  const health = new ServerHealth({
    probe: async () => states[probes++] ?? 'well',
    times: { firstPause: 10, longestPause: 20 },
  });
  t.teardown(() => health.close());
  health.setAside(new Error('x'));
  await until(() => health.usable);
  t.equal(probes, 3);
});
