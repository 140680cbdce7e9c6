/** `sluice load` and a server that goes down during the run. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { type RunOptions, run } from '#load/main.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const mix = {
  spaces: [{ name: 'people', records: 50, fields: [{ name: 'email', unique: true }, { name: 'age' }] }],
  requests: [
    { kind: 'insert', weight: 3 },
    { kind: 'upload', by: 'put', sizes: [{ bytes: '5 KiB' }] },
  ],
  phases: [{ seconds: 4, rate: 40 }],
};

/**
 * A free port that no outgoing connection gets: on loopback, a client that keeps on connecting to a port of that range where
 * nobody listens may at last connect to itself, and then nobody else can listen there.
 */
async function portBelowEphemeral(): Promise<string> {
  for (let port = 20_000 + (process.pid % 10_000); ; port++) {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return `${port}`;
  }
}

function load(url: string, token: string, options: Partial<RunOptions>) {
  const target = { kind: 'sluice', url, credential: token, options: {} } as const;
  return run({ mix, target, workers: 1, verify: 1, ...options });
}

t.test('a server that was killed and starts again has all that it acknowledged', async (t) => {
  const port = await portBelowEphemeral();
  const sluice = await sluiceFor(t, { env: { PORT: port } });
  let again: Promise<unknown> | undefined;
  const onWindow = (): void => {
    again ??= sluice.kill().then(() => sluice.restart({ PORT: port }));
  };
  const { verified, totals, warnings } = await load(sluice.baseUrl, sluice.token, { onWindow });
  await again;
  t.ok(totals.failed > 0 && totals.good > 0, JSON.stringify(totals.codes));
  t.strictSame(verified?.wrong, [], warnings.join(' '));
  t.ok((verified?.checked ?? 0) >= totals.good);
});

t.test('a server that stays away: the result says that nothing was verified or removed', async (t) => {
  const sluice = await sluiceFor(t);
  const controller = new AbortController();
  let _killed: Promise<void> | undefined;
  const { verified, totals, warnings } = await load(sluice.baseUrl, sluice.token, {
    cleanup: true,
    signal: controller.signal,
    onWindow: () => {
      _killed ??= sluice.kill();
    },
    onProgress: (line) => {
      // nobody waits for it
      if (line.includes("can't be reached")) controller.abort(new Error('nobody waits'));
    },
  });
  t.ok(totals.good > 0 && totals.failed > 0);
  t.equal(verified, null);
  // a busy machine has others
  t.match(
    warnings.filter((warning) => /verified|removed/.test(warning)),
    [
      'What was stored could not be verified: nobody waits.',
      /^Not all that the run made is removed: connect ECONNREFUSED /,
    ],
  );
});
