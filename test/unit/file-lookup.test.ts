import t from 'tap';
import { FileLookup } from '../../common/metadata/file-lookup.ts';

const never = new AbortController().signal;

/** A table of names that notes its statements, and answers when it is told to. */
function openTable(present: Iterable<string> = []) {
  const rows = new Set(present);
  const statements: string[][] = [];
  const state = { gate: Promise.resolve(), fail: false };
  const lookup = new FileLookup<string>(async (names) => {
    statements.push([...names]);
    await state.gate;
    if (state.fail) throw new Error('the table is away');
    return new Map(names.filter((name) => rows.has(name)).map((name) => [name, `file ${name}`]));
  });
  return { rows, statements, state, lookup };
}

t.test('names that come while a look is under way share the next one', async (t) => {
  const { statements, state, lookup } = openTable(['a', 'c']);
  let open: () => void = () => {};
  state.gate = new Promise((resolve) => {
    open = resolve;
  });
  const first = lookup.find('a', never);
  await new Promise((resolve) => setImmediate(resolve));
  const others = ['b', 'c', 'b', 'd'].map((name) => lookup.find(name, never));
  open();
  t.equal(await first, 'file a');
  t.strictSame(await Promise.all(others), [null, 'file c', null, null]);
  t.strictSame(statements, [['a'], ['b', 'c', 'd']]);
});

t.test('a missing file is asked for once, until it is made', async (t) => {
  const { rows, statements, lookup } = openTable();
  for (let i = 0; i < 10; i++) t.equal(await lookup.find('a', never), null);
  t.equal(statements.length, 1);
  rows.add('a');
  lookup.made('a');
  t.equal(await lookup.find('a', never), 'file a');
});

t.test('10,000 names at once are few statements, each of a bounded size', async (t) => {
  const { statements, lookup } = openTable();
  await Promise.all(Array.from({ length: 10_000 }, (_, i) => lookup.find(`${i}`, never)));
  t.ok(statements.length <= 21, `${statements.length}`);
  t.ok(statements.every((names) => names.length <= 500));
});

t.test('a look that fails is the failure of those who asked, and of nobody else', async (t) => {
  const { state, lookup } = openTable(['a']);
  state.fail = true;
  await t.rejects(lookup.find('a', never), { message: 'the table is away' });
  state.fail = false;
  t.equal(await lookup.find('a', never), 'file a');
});

t.test('who is gone does not wait, and costs the others nothing', async (t) => {
  const { state, lookup } = openTable(['a']);
  state.gate = new Promise((resolve) => setTimeout(resolve, 50));
  const gone = new AbortController();
  const both = [lookup.find('a', gone.signal), lookup.find('a', never)];
  gone.abort(new Error('gone'));
  await t.rejects(both[0] as Promise<unknown>, { message: 'gone' });
  t.equal(await both[1], 'file a');
});
