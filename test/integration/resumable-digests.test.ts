/** Repr-Digest (RFC 9530) of uploads that go on: of all bytes, however many requests bring them. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { FileDigests } from '#gateway/digest/file-digests.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const bytes = patternBytes(200_000);
const digestOf = (algorithm: 'sha-256' | 'sha-512', of: Uint8Array) =>
  `${algorithm}=:${createHash(algorithm.replace('-', '')).update(of).digest('base64')}:`;
const right = { 'repr-digest': digestOf('sha-256', bytes) };
const wrong = { 'repr-digest': digestOf('sha-256', bytes.subarray(1)) };
const mismatch = { status: 400, text: /checksum_mismatch.*Repr-Digest/ };

for (const [name, openStore] of Object.entries(tusStores)) {
  t.test(`${name}: a file that is not the announced one is refused, and nothing of it is left`, async (t) => {
    const gateway = await serveTus(t, await openStore(t));
    const { begin, patch, ask, rows, left, objects } = gateway;
    t.match(await begin(bytes.byteLength, wrong, bytes), mismatch);
    t.match(await begin(0, wrong), mismatch);
    const { path } = await begin(bytes.byteLength, wrong, bytes.subarray(0, 70_000));
    t.match(await patch(path, 70_000, bytes.subarray(70_000)), mismatch);
    t.equal((await ask(path)).status, 404);
    const last = await begin(bytes.byteLength, {}, bytes.subarray(0, 70_000));
    t.match(await patch(last.path, 70_000, bytes.subarray(70_000), wrong), mismatch);
    const part = await begin(bytes.byteLength, { ...wrong, 'upload-concat': 'partial' });
    t.match(await patch(part.path, 0, bytes), mismatch);
    const draft = await fetch(`${gateway.baseUrl}/_f_/demo/resumable`, {
      method: 'POST',
      headers: { 'upload-complete': '?1', ...wrong },
      body: Buffer.from(bytes),
    });
    t.match({ status: draft.status, text: await draft.text() }, mismatch);
    t.match(await begin(1, { 'repr-digest': 'sha-256=abc' }), { status: 400, text: /invalid_multipart/ });
    t.equal(rows.size, 0);
    await eventuallyEqual(t, left, []);
    t.strictSame(await objects(), []);
  });

  t.test(
    `${name}: a file that is the announced one is stored, with its SHA-256 where that is kept`,
    async (t) => {
      const digests = new FileDigests();
      t.teardown(() => digests.close());
      for (const kept of [undefined, digests]) {
        const { begin, patch, ask, rows, stored, left } = await serveTus(t, await openStore(t), {
          ...(kept && { digests: kept }),
        });
        t.equal((await begin(bytes.byteLength, right, bytes)).status, 201);
        const { path } = await begin(bytes.byteLength, {
          'repr-digest': `unknown=:AAAA:, ${digestOf('sha-512', bytes)}`,
        });
        t.equal((await patch(path, 0, bytes.subarray(0, 70_000))).status, 204);
        t.equal((await patch(path, 70_000, bytes.subarray(70_000), right)).status, 204);
        const whole = { ...right, 'upload-concat': `final;${await partOf(bytes)}` };
        t.equal((await ask('/_f_/demo/resumable', { method: 'POST', headers: whole })).status, 201);
        t.equal((await begin(1, { 'repr-digest': 'unknown=:AAAA:' }, bytes.subarray(0, 1))).status, 201);
        for (const one of (await stored()).slice(0, 3)) t.ok(one.equals(bytes));
        const sha256 = kept && createHash('sha256').update(bytes).digest('hex');
        t.strictSame(
          [...rows.values()].slice(0, 3).map((row) => row.sha256),
          [sha256, sha256, sha256],
        );
        await eventuallyEqual(t, left, []);

        async function partOf(all: Uint8Array): Promise<string> {
          const part = await begin(all.byteLength, { ...right, 'upload-concat': 'partial' });
          t.equal((await patch(part.path, 0, all)).status, 204);
          return part.path;
        }
      }
    },
  );
}
