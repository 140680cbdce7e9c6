/** What the janitor makes of files that rules refused. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { everyFile, type FileRules, noFile } from '#catalogue/file-rules/file-rules.ts';
import { draftFile, type FileDraft } from '#gateway/files/file-draft.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { plentyOfMemory } from '../services/multipart-harness.ts';
import { testDeployment } from '../services/new-file.ts';
import { resumableUploadsOn } from '../services/resumable-uploads.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { filesInMemory } from '../services/test-gateway.ts';
import { testJanitor } from '../services/test-janitor.ts';

const never = new AbortController().signal;
const ownerId = randomUUID();

/** Rules that let everybody upload, or nobody. */
function rulesThat(verb: 'take' | 'refuse'): FileRules {
  const upload = verb === 'take' ? everyFile : noFile;
  const allow = { upload, read: null, list: null, delete: null };
  return { given: {}, users: 'users', allow, maxBytes: null, types: null };
}

/** An upload whose object was stored when the rules changed. Its gateway is killed before it removes the object. */
async function killedAfterRefusal(t: Test, expireAfter = 86_400_000) {
  const store = await createFileSystemStore({ root: await temporaryFolder(t) });
  t.teardown(() => store.close());
  const { rows, cloudFiles } = filesInMemory();
  let rules = rulesThat('take');
  let killed = false;
  const stores: ObjectStore = {
    ...store,
    async head(key, signal) {
      // the object is about to be stored, and the rules change meanwhile
      if (!killed) rules = rulesThat('refuse');
      return store.head(key, signal);
    },
    async delete(key, signal) {
      if (!killed) throw new Error('the gateway is killed');
      await store.delete(key, signal);
    },
  };
  const resumable = resumableUploadsOn({
    ...{ store: stores, cloudFiles, memory: plentyOfMemory(), expireAfter },
    boundAs: async (_owner, _project, user) => ({ user, rules }),
  });
  const draft = draftFile(
    { fileName: 'refused.txt', contentType: 'text/plain' },
    { id: randomUUID(), deploymentId: testDeployment, ownerId, projectSlug: 'demo' },
  );
  const upload = { metadata: '', length: 0, bound: true } as const;
  await t.rejects(resumable.create(draft, upload, never, null), { message: 'the gateway is killed' });
  killed = true;
  t.ok(await store.head(draft.objectKey, never), 'the object is left');
  const janitor = testJanitor({ store, cloudFiles, resumable });
  t.teardown(() => janitor.close());
  const left = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of store.list('', never)) found.push(key);
    return found;
  };
  const allow = (): void => {
    rules = rulesThat('take');
  };
  return { draft, rows, janitor, left, allow };
}

const isFile = (rows: ReadonlyMap<string, unknown>, { name }: FileDraft): boolean => rows.has(name);

t.test('a refused file appeared when its gateway was killed before it removed the object', async (t) => {
  const { draft, rows, janitor, left } = await killedAfterRefusal(t);
  t.match(await janitor.run({ dryRun: true }), { failures: 0 });
  t.equal((await left()).includes(draft.objectKey), true, 'a dry run removes nothing');
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 0, failures: 0 });
  t.equal(isFile(rows, draft), false);
  t.equal((await left()).includes(draft.objectKey), false);
});

t.test('so it did when the upload had expired', async (t) => {
  const { draft, rows, janitor, left } = await killedAfterRefusal(t, -1);
  t.match(await janitor.run({ dryRun: false }), { uploadsExpired: 1, rowsMade: 0, failures: 0 });
  t.equal(isFile(rows, draft), false);
  t.strictSame(await left(), []);
});

t.test('a file that the rules take again is stored', async (t) => {
  const { draft, rows, janitor, allow } = await killedAfterRefusal(t);
  allow();
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 1, failures: 0 });
  t.equal(isFile(rows, draft), true);
});
