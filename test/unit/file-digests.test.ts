import { createHash, randomBytes } from 'node:crypto';
import t from 'tap';
import { FileDigests } from '#gateway/digest/file-digests.ts';

const mebibyte = 1024 * 1024;
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const partOf = (...chunks: readonly Buffer[]) => ({
  chunks,
  size: chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
});

t.test('files at once, of any size, each have their own', async (t) => {
  const digests = new FileDigests();
  t.teardown(() => digests.close());
  const sizes = [0, 1, 65_536, 65_537, mebibyte, 3 * mebibyte + 7, 20 * mebibyte];
  await Promise.all(
    sizes.map(async (size) => {
      const bytes = randomBytes(size);
      const digest = digests.begin();
      const half = Math.floor(size / 2);
      // the bytes may be others once it resolves
      const copy = Buffer.from(bytes);
      if (size > 65_537) {
        await digest.update(partOf(copy.subarray(0, 1000), copy.subarray(1000, half)));
        copy.fill(0, 0, half);
      }
      const last = size > 65_537 ? copy.subarray(half) : copy;
      t.equal(await digest.end(partOf(last)), sha256(bytes), `${size} bytes`);
    }),
  );
});

t.test('parts that are added without a wait are hashed in their order', async (t) => {
  const digests = new FileDigests();
  t.teardown(() => digests.close());
  const bytes = randomBytes(40 * mebibyte);
  const digest = digests.begin();
  for (let at = 0; at < bytes.byteLength; at += 5 * mebibyte)
    void digest.update(partOf(bytes.subarray(at, at + 5 * mebibyte)));
  t.equal(await digest.end(null), sha256(bytes));
});

t.test('a file whose thread ended has none, and the next one does', async (t) => {
  const digests = new FileDigests();
  const bytes = randomBytes(2 * mebibyte);
  const digest = digests.begin();
  await digest.update(partOf(bytes));
  await digests.close();
  // what is given to it all the same takes no room from others
  for (let i = 0; i < 20; i++) await digest.update(partOf(bytes));
  await t.rejects(digest.end(partOf(bytes)), { message: 'the digest thread ended' });
  const next = digests.begin();
  t.equal(await next.end(partOf(bytes)), sha256(bytes));
  await digests.close();
});
