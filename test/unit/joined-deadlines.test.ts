/** Node 20 collected a deadline that was joined with a signal by AbortSignal.any, and nothing ended the wait. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { attemptWith } from '#client/attempt-with.ts';
import { type Call, send } from '#client/client.ts';
import { connect } from '#client/index.ts';
import { ClickhouseStatements } from '#engine/clickhouse-statements.ts';
import { readLimitDefaults } from '#kernel/config/settings.ts';
import { silentLog } from '../services/silent-log.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The address of a server that takes one connection and never answers, and ends all others: nobody waits for those. */
async function silentServer(t: Test): Promise<string> {
  let taken = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    if (taken++ > 0) socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Garbage is collected as long as the work takes. */
async function whileCollecting(work: () => Promise<unknown>): Promise<unknown> {
  // a few times before the deadline: each takes a while in a process of many tests
  const timer = setInterval(collect, 60);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

t.test('a statement on every server waited without end', async (t) => {
  const url = await silentServer(t);
  const options = { url, user: 'default', password: '', timeout: 300, log: silentLog() };
  const statements = new ClickhouseStatements(options, readLimitDefaults);
  const { signal } = new AbortController();
  const statement = { body: 'SELECT 1', settings: {}, writes: true };
  const failed = await whileCollecting(() => statements.writeOnEach(statement, { signal })).catch(
    (error: unknown) => error,
  );
  t.match(failed, { message: 'no answer for 300 ms' });
  await statements.close();
});

t.test('a call of the client waited without end', async (t) => {
  const client = connect({ url: await silentServer(t), token: 'none', project: 'p', retries: 0 });
  const { signal } = new AbortController();
  const call: Call = {
    method: 'GET',
    path: '/',
    repeatable: false,
    signal,
    ...attemptWith(undefined, 300, signal),
  };
  await t.rejects(
    whileCollecting(() => send(client, call)),
    { code: 'no_answer' },
  );
});

t.test('no deadline is joined by AbortSignal.any alone', async (t) => {
  const root = join(import.meta.dirname, '../..');
  const files = ['bench', 'client/src', 'common', 'events', 'gateway', 'query', 'console'].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(folder, name)),
  );
  t.ok(files.length > 400);
  // browsers keep such a signal; the client gives it a listener
  const allowed = ['client/src/attempt-with.ts', 'console/web/session.ts'];
  const joined = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    return /AbortSignal\.any\(|\beitherOf\(/.test(text) && text.includes('AbortSignal.timeout(');
  });
  t.strictSame(joined.sort(), allowed);
});
