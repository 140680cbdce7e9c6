import t from 'tap';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { FileRowCache } from '#gateway/catalogue/file-row-cache.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';

const never = new AbortController().signal;

const fileOf = (name: string) => ({ name }) as CloudFile;

/** A table of names that notes its statements, and answers when it is told to. */
function openTable(present: Iterable<string> = []) {
  const rows = new Set(present);
  const statements: string[][] = [];
  const state = { gate: Promise.resolve(), fail: false };
  const byNames = async (names: readonly string[]) => {
    statements.push([...names]);
    await state.gate;
    if (state.fail) throw new Error('the table is away');
    return new Map(names.filter((name) => rows.has(name)).map((name) => [name, fileOf(name)]));
  };
  const known = new FileRowCache({ statements: { byNames }, singleWriter: true, metrics: unmeasured });
  const find = async (name: string, signal: AbortSignal) => (await known.find(name, signal))?.name ?? null;
  return { rows, statements, state, find, known };
}

t.test('names that come while a look is under way share the next one', async (t) => {
  const { statements, state, find } = openTable(['a', 'c']);
  let open: () => void = () => {};
  state.gate = new Promise((resolve) => {
    open = resolve;
  });
  const first = find('a', never);
  await new Promise((resolve) => setImmediate(resolve));
  const others = ['b', 'c', 'b', 'd'].map((name) => find(name, never));
  open();
  t.equal(await first, 'a');
  t.strictSame(await Promise.all(others), [null, 'c', null, null]);
  t.strictSame(statements, [['a'], ['b', 'c', 'd']]);
});

t.test('a missing file is asked for once, until it is made', async (t) => {
  const { rows, statements, find, known } = openTable();
  for (let i = 0; i < 10; i++) t.equal(await find('a', never), null);
  t.equal(statements.length, 1);
  rows.add('a');
  known.note(fileOf('a'));
  t.equal(await find('a', never), 'a');
  // it is read again after so many others
  for (let i = 0; i < 10_000; i++) known.note(fileOf(`${i}`));
  t.equal(await find('a', never), 'a');
  t.equal(statements.length, 2);
});

t.test('10,000 names at once are few statements, each of a bounded size', async (t) => {
  const { statements, find } = openTable();
  await Promise.all(Array.from({ length: 10_000 }, (_, i) => find(`${i}`, never)));
  t.ok(statements.length <= 21, `${statements.length}`);
  t.ok(statements.every((names) => names.length <= 500));
});

t.test('a look that fails is the failure of those who asked, and of nobody else', async (t) => {
  const { state, find } = openTable(['a']);
  state.fail = true;
  await t.rejects(find('a', never), { message: 'the table is away' });
  state.fail = false;
  t.equal(await find('a', never), 'a');
});

t.test('who is gone does not wait, and costs the others nothing', async (t) => {
  const { state, find } = openTable(['a']);
  state.gate = new Promise((resolve) => setTimeout(resolve, 50));
  const gone = new AbortController();
  const both = [find('a', gone.signal), find('a', never)];
  gone.abort(new Error('gone'));
  await t.rejects(both[0] as Promise<unknown>, { message: 'gone' });
  t.equal(await both[1], 'a');
});
