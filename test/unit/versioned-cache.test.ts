import t from 'tap';
import { VersionedCache } from '#records/store-shared/versioned-cache.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { loadResult } from '../services/load-result.ts';
import { createLocalVersions } from '../services/local-versions.ts';

const mebibyte = 1024 ** 2;
/** The cache looks at no more of a space than its id. */
const viewOf = (id: string): RecordSpace => ({ id }) as RecordSpace;
const text = (bytes: Uint8Array | null | undefined): string | null | undefined => bytes && `${bytes}`;

function open(bytes = 8 * mebibyte) {
  // long enough that only a write ends a version
  const versions = createLocalVersions({ lifetime: 3_600_000 });
  const caches = [new VersionedCache({ versions, bytes }), new VersionedCache({ versions, bytes })] as const;
  const view = viewOf('space');
  const get = async (cache: VersionedCache, request: string) =>
    text((await askedAgain(cache, view, request)).get(view, request));
  const load = async (cache: VersionedCache, request: string, read: () => Promise<Uint8Array | null>) =>
    text(await loadResult(await askedAgain(cache, view, request), view, request, null, read));
  return { versions, caches, view, get, load };
}

/** As when the question was asked before. */
function askedAgain(cache: VersionedCache, view: RecordSpace, request: string) {
  void cache.at(view, request);
  return cache.at(view, request);
}

t.test('a question that is asked once needs no version, and its result is not kept', async (t) => {
  let asked = 0;
  const versions = createLocalVersions();
  const cache = new VersionedCache({
    versions: {
      ...versions,
      read(id) {
        asked++;
        return versions.read(id);
      },
    },
    bytes: mebibyte,
  });
  const view = viewOf('space');
  const ask = async (request: string): Promise<string | null | undefined> => {
    const results = await cache.at(view, request);
    const kept = results.get(view, request);
    if (kept !== undefined) return 'kept';
    return text(await loadResult(results, view, request, null, async () => Buffer.from('read')));
  };
  for (let i = 0; i < 100; i++) t.equal(await ask(`find ${i}`), 'read');
  t.ok(asked < 10, 'some may look alike');
  asked = 0;
  t.strictSame(
    [await ask('x'.repeat(10_000)), await ask('x'.repeat(10_000)), await ask('x'.repeat(10_000))],
    ['read', 'read', 'kept'],
  );
  t.equal(asked, 2);
});

t.test('a result is kept until somebody writes, and none while somebody does', async (t) => {
  const { versions, caches, get, load } = open();
  for (const cache of caches) {
    t.equal(await load(cache, 'find', async () => Buffer.from('old')), 'old');
    t.equal(await get(cache, 'find'), 'old');
  }
  const end = await versions.begin('space');
  for (const cache of caches) {
    t.equal(await get(cache, 'find'), undefined);
    t.equal(await load(cache, 'find', async () => Buffer.from('between')), 'between');
    t.equal(await get(cache, 'find'), undefined);
  }
  await end();
  for (const cache of caches) t.equal(await get(cache, 'find'), undefined);
  t.equal(await load(caches[0], 'find', async () => Buffer.from('new')), 'new');
  t.equal(await get(caches[0], 'find'), 'new');
  t.equal(await get(caches[1], 'find'), undefined);
});

t.test('a result that was read before a write that ended meanwhile is good for nobody', async (t) => {
  const { versions, caches, get, load } = open();
  const result = await load(caches[0], 'find', async () => {
    const old = Buffer.from('old');
    await (await versions.begin('space'))();
    return old;
  });
  t.equal(result, 'old');
  t.equal(await get(caches[0], 'find'), undefined);
});

t.test('equal requests share a read, but not one from before a write', async (t) => {
  const { versions, caches, load } = open();
  let reads = 0;
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const read = async () => {
    const number = ++reads;
    await gate;
    return Buffer.from(`${number}`);
  };
  const before = [load(caches[0], 'find', read), load(caches[0], 'find', read)];
  await new Promise((done) => setImmediate(done));
  await (await versions.begin('space'))();
  const after = load(caches[0], 'find', read);
  await new Promise((done) => setImmediate(done));
  release();
  t.strictSame(await Promise.all(before), ['1', '1']);
  t.equal(await after, '2');
});

t.test('who reads for others fails, or finds too much: the others read themselves', async (t) => {
  const { caches, load } = open();
  const failing = load(caches[0], 'find', async () => {
    await new Promise((done) => setImmediate(done));
    throw new Error('the client has gone');
  });
  const other = load(caches[0], 'find', async () => Buffer.from('other'));
  await t.rejects(failing, /gone/);
  t.equal(await other, 'other');
  const large = load(caches[0], 'large', async () => null);
  t.equal(await load(caches[0], 'large', async () => Buffer.from('own')), 'own');
  t.equal(await large, null);
});

t.test('requests of other views, spaces and texts have results of their own', async (t) => {
  const { caches, get, load } = open();
  const [cache] = caches;
  await load(cache, 'find', async () => Buffer.from('one'));
  t.equal(
    (await askedAgain(cache, viewOf('space'), 'find')).get(viewOf('space'), 'find'),
    undefined,
    'another view of one space',
  );
  t.equal((await askedAgain(cache, viewOf('other'), 'find')).get(viewOf('other'), 'find'), undefined);
  t.equal(await get(cache, 'findOne'), undefined);
  t.equal(await get(cache, 'find'), 'one');
});

t.test('a small result does not keep the larger buffer in memory that it is a piece of', async (t) => {
  const cache = new VersionedCache({ versions: createLocalVersions(), bytes: mebibyte });
  const view = viewOf('one');
  const results = await askedAgain(cache, view, 'read');
  await loadResult(results, view, 'read', null, async () => Buffer.from('before read').subarray(7));
  t.equal(results.get(view, 'read')?.buffer.byteLength, 4);
});

t.test('results are bounded in bytes, each and together; of 0 bytes nothing is kept or asked', async (t) => {
  const { caches, get, load } = open(mebibyte);
  const [cache] = caches;
  await load(cache, 'large', async () => Buffer.alloc(mebibyte / 32));
  t.equal(await get(cache, 'large'), undefined);
  for (let i = 0; i < 1000; i++) await load(cache, `find ${i}`, async () => Buffer.alloc(8000, 'x'));
  let kept = 0;
  for (let i = 0; i < 1000; i++) if ((await get(cache, `find ${i}`)) !== undefined) kept++;
  t.ok(kept > 50 && kept * 8000 < mebibyte, `${kept} are kept`);
  const none = new VersionedCache({
    bytes: 0,
    versions: {
      read: async () => t.fail('nobody needs it'),
      begin: async () => async () => {},
    } as never,
  });
  const results = await askedAgain(none, viewOf('space'), 'find');
  t.equal(text(await loadResult(results, viewOf('space'), 'find', null, async () => Buffer.from('x'))), 'x');
  t.equal(results.get(viewOf('space'), 'find'), undefined);
});
