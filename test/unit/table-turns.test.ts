import t from 'tap';
import { TableTurns } from '../../common/clickhouse/table-turns.ts';

/** Work that ends when it is told to. */
function gated(log: string[], name: string) {
  let end: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async (): Promise<void> => {
    log.push(`${name} begins`);
    await gate;
    log.push(`${name} ends`);
  };
  return { work, end };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('statements run beside each other, and begin at once', async (t) => {
  const turns = new TableTurns();
  const log: string[] = [];
  const [one, two] = [gated(log, 'one'), gated(log, 'two')];
  const all = [turns.beside('t', one.work), turns.beside('t', two.work)];
  t.strictSame(log, ['one begins', 'two begins']);
  one.end();
  two.end();
  await Promise.all(all);
});

t.test('work alone waits for those under way, and those that come wait for it', async (t) => {
  const turns = new TableTurns();
  const log: string[] = [];
  const before = gated(log, 'before');
  const alone = gated(log, 'alone');
  const after = gated(log, 'after');
  const elsewhere = gated(log, 'elsewhere');
  const all = [
    turns.beside('t', before.work),
    turns.alone('t', alone.work),
    turns.beside('t', after.work),
    turns.beside('u', elsewhere.work),
  ];
  await turn();
  t.strictSame(log, ['before begins', 'elsewhere begins']);
  before.end();
  after.end();
  elsewhere.end();
  await turn();
  t.strictSame(log.slice(2).sort(), ['alone begins', 'before ends', 'elsewhere ends']);
  alone.end();
  await Promise.all(all);
  t.strictSame(log.slice(5), ['alone ends', 'after begins', 'after ends']);
});

t.test('work that fails lets the others go on', async (t) => {
  const turns = new TableTurns();
  await t.rejects(
    turns.alone('t', async () => {
      throw new Error('no');
    }),
    { message: 'no' },
  );
  t.equal(await turns.alone('t', async () => 1), 1);
  let ran = false;
  await turns.beside('t', async () => {
    ran = true;
  });
  t.ok(ran);
});
