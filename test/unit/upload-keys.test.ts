import { randomUUID } from 'node:crypto';
import t from 'tap';
import { partKey, readUploadKey, restKey, stateKey } from '#gateway/resumable/upload-state.ts';

const upload = {
  deploymentId: randomUUID(),
  ownerId: 'ada',
  projectSlug: 'photos',
  name: `${randomUUID()}_a.jpg`,
};

t.test('the keys of an upload are read back', async (t) => {
  t.strictSame(readUploadKey(stateKey(upload)), { ...upload, isRest: false });
  for (const key of [restKey(upload, 7), partKey(upload)])
    t.strictSame(readUploadKey(key), { ...upload, isRest: true });
});

t.test('other objects are no uploads', async (t) => {
  const key = stateKey(upload);
  const others = [
    '',
    'readme',
    `${key}/more`,
    key.replace('_resumable', 'files'),
    key.replace(/[^/]*$/, 'x'),
  ];
  for (const other of others) t.equal(readUploadKey(other), null, other);
});
