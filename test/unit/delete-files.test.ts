/** A deletion of many files that the object store refuses. */
import t from 'tap';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { deleteFiles } from '#gateway/operations/delete-files.ts';
import { noPlans } from '../services/direct-uploads.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { newFile } from '../services/new-file.ts';
import { noTrash } from '../services/no-trash.ts';

t.test('files that are not deleted can be named by records again', async (t) => {
  const file = newFile({ ownerId: 'owner', projectSlug: 'demo' });
  const released: string[] = [];
  const release = async (names: readonly string[]): Promise<void> => void released.push(...names);
  const handler = deleteFiles.handler({
    authenticate: () => ({ userId: 'owner', tokenId: 't' }),
    cloudFiles: { findAny: async () => file, remove: async () => true },
    store: { delete: async () => {}, deleteAll: () => Promise.reject(new Error('the store is down')) },
    quota: noQuota,
    plans: noPlans,
    trash: noTrash,
    used: { hold: async () => ({ inUse: new Set(), release, deleted() {} }) },
  });
  const body = Buffer.from(JSON.stringify({ names: [file.name] }));
  const headers = { 'content-type': 'application/json' };
  const request = fakeRequest({
    method: 'POST',
    params: { project: 'demo' },
    headers,
    chunks: [body],
    contentLength: body.byteLength,
  });
  await t.rejects(async () => handler(request), { message: 'the store is down' });
  t.strictSame(released, [file.name]);
});
