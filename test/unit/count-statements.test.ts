import t from 'tap';
import { countStatements } from '../../common/clickhouse/count-statements.ts';
import type { Database } from '../../common/clickhouse/database.ts';

t.test('statements count until they are answered, and streams until they are read', async (t) => {
  const open: { resolve(): void; reject(error: Error): void }[] = [];
  const wait = (): Promise<void> =>
    new Promise((resolve, reject) => open.push({ resolve: () => resolve(), reject }));
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    yield Buffer.from('b');
  }
  const db = countStatements({
    command: wait,
    insert: wait,
    rows: () => wait().then(() => []),
    stream: () => wait().then(chunks),
    ready: async () => {},
    close: async () => {},
  } as Database);
  const command = db.command('x');
  const rows = db.rows('x');
  const insert = db.insert('t', [], Buffer.alloc(0));
  t.equal(db.statementsInFlight, 3);
  open[0]?.reject(new Error('no'));
  await t.rejects(command, { message: 'no' });
  open[1]?.resolve();
  open[2]?.resolve();
  await Promise.all([rows, insert]);
  t.equal(db.statementsInFlight, 0);

  for (const whole of [true, false]) {
    const stream = db.stream('x', 'TSV');
    t.equal(db.statementsInFlight, 1);
    open.at(-1)?.resolve();
    for await (const chunk of await stream) {
      t.equal(db.statementsInFlight, 1, chunk.toString());
      if (!whole) break;
    }
    t.equal(db.statementsInFlight, 0);
  }
});
