import t from 'tap';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { type ServedFile, SmallFiles } from '#gateway/download/small-files.ts';
import { LocalInvalidation } from '../services/local-invalidation.ts';

const served = (name: string) => ({ file: { name } as CloudFile }) as ServedFile;
const signal = new AbortController().signal;
const bytes = Buffer.from('0123456789');

function keep(files: SmallFiles, name = 'a'): void {
  files.keep(served(name), bytes, files.begin());
}

/** Rows, of which any may be removed. */
function rows(remove: CloudFiles['remove'] = async () => true): CloudFiles {
  return { remove, async change() {} } as Partial<CloudFiles> as CloudFiles;
}

t.test('what is kept is there until it is removed', async (t) => {
  const files = new SmallFiles({ bytes: 100_000, singleWriter: true });
  const over = files.over(rows());
  t.equal(files.get('a'), undefined);
  keep(files);
  t.equal(files.get('a')?.bytes, bytes);
  await over.remove('a', signal);
  t.equal(files.get('a'), undefined);
});

t.test('a removal that fails leaves nothing either: the object may be gone', async (t) => {
  const files = new SmallFiles({ bytes: 100_000, singleWriter: true });
  const over = files.over(rows(() => Promise.reject(new Error('the engine is away'))));
  keep(files);
  await t.rejects(over.remove('a', signal), { message: 'the engine is away' });
  t.equal(files.get('a'), undefined);
});

t.test('what was read before a removal is not kept after it', async (t) => {
  const files = new SmallFiles({ bytes: 100_000, singleWriter: true });
  const ticket = files.begin();
  await files.over(rows()).remove('a', signal);
  files.keep(served('a'), bytes, ticket);
  t.equal(files.get('a'), undefined);
});

t.test('a removal by another process is over there before it is answered here', async (t) => {
  const invalidation = new LocalInvalidation();
  const [one, two] = [1, 2].map(() => new SmallFiles({ bytes: 100_000, singleWriter: false, invalidation }));
  if (one === undefined || two === undefined) return;
  keep(two, 'a');
  keep(two, 'b');
  const ticket = two.begin();
  await one.over(rows()).remove('a', signal);
  t.equal(two.get('a'), undefined);
  t.equal(two.get('b')?.bytes, bytes);
  two.keep(served('a'), bytes, ticket);
  t.equal(two.get('a'), undefined, 'what was read before it is not served after it');
});

t.test('while Redis does not say what was removed, nothing is served', async (t) => {
  const invalidation = new LocalInvalidation();
  const files = new SmallFiles({ bytes: 100_000, singleWriter: false, invalidation });
  keep(files);
  let current = false;
  invalidation.isCurrent = () => current;
  t.equal(files.get('a'), undefined);
  current = true;
  t.equal(files.get('a')?.bytes, bytes);
});

t.test('without Redis several processes keep nothing, and without memory none does', async (t) => {
  for (const args of [
    { bytes: 100_000, singleWriter: false },
    { bytes: 0, singleWriter: true },
  ]) {
    const files = new SmallFiles(args);
    keep(files);
    t.equal(files.get('a'), undefined);
  }
});

t.test('they take no more memory than they may: those go first that were not asked for', async (t) => {
  const files = new SmallFiles({ bytes: 5000, singleWriter: true });
  keep(files, 'a');
  keep(files, 'b');
  files.get('a');
  keep(files, 'c');
  t.strictSame(
    ['a', 'b', 'c'].filter((name) => files.get(name) !== undefined),
    ['a', 'c'],
  );
});
