import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { ObjectStore } from '#objects/object-store.ts';
import { emptyPart, partOf, storeObject } from '../services/store-object.ts';
import { collect, patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;
const plain = { contentType: 'text/plain', metadata: {} };

/**
 * What is worth trying on every S3 server beside the contract.
 * @param store may be shared with others
 * @param pageSize what the server lists at once
 */
export async function s3StoreCases(t: Test, store: ObjectStore, pageSize = 1000): Promise<void> {
  const owner = randomUUID();
  const keysBelow = async (prefix: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of store.list(prefix, never)) keys.push(key);
    return keys.sort();
  };

  await t.test('keys with unusual characters', async (t) => {
    const names = [
      ...["!-_.*'()", 'a b  c', ' both ends ', '100% +&?#=;:@,$', '%41%2F%zz', 'ünïcödé-日本語-🙂'],
      ...['e\u0301 and \u00e9', '<a>&amp;"quoted"', '~tilde^{}[]|`', 'a..b...'],
    ];
    const bytes = patternBytes(10);
    for (const name of names) {
      const key = `${owner}/keys/${name}`;
      await storeObject(store, key, bytes, plain);
      t.match(await store.head(key, never), { key, size: 10 }, name);
      t.ok((await collect(store.read(key, null, never))).equals(bytes), name);
    }
    const keys = names.map((name) => `${owner}/keys/${name}`).sort();
    t.strictSame(await keysBelow(`${owner}/keys/`), keys);
    for (const key of keys) {
      t.strictSame(await keysBelow(key), [key]);
      await store.delete(key, never);
      t.equal(await store.head(key, never), null);
    }
  });

  await t.test('addresses for readers without keys', async (t) => {
    const bytes = patternBytes(1000);
    const options = {
      contentType: 'video/mp4',
      contentDisposition: `attachment; filename="a _.mp4"; filename*=UTF-8''a%20%C3%A4.mp4`,
      cacheControl: 'private',
      lifetime: 60,
    };
    const { contentType, contentDisposition } = options;
    // Versity 1.0.14 ignores response-content-type and response-content-disposition, so they are stored as well
    const description = { ...plain, served: { contentType, contentDisposition } };
    for (const name of ['plain', "!-_.*'()", 'a b  c', '100% +&?#=;:@,$', 'ünïcödé-日本語-🙂']) {
      const key = `${owner}/read/${name}`;
      await storeObject(store, key, bytes, description);
      const url = (await store.direct?.readAddress(key, options, never)) ?? '';
      const range = await fetch(url, { headers: { range: 'bytes=10-19' } });
      t.equal(range.status, 206, name);
      t.ok(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(10, 20)), name);
      const { headers, status } = await fetch(url);
      t.equal(status, 200, name);
      t.equal(headers.get('content-type'), options.contentType);
      t.equal(headers.get('content-disposition'), options.contentDisposition);
      const found = await store.head(key, never);
      t.equal(headers.get('etag'), found?.etag, 'the ETag that we know');
      t.equal(headers.get('last-modified'), found?.lastModified.toUTCString());
      const statusOf = async (address: string, init: RequestInit) => (await fetch(address, init)).status;
      t.equal(await statusOf(url, { headers: { 'if-match': found?.etag ?? '' } }), 200);
      t.equal(await statusOf(url, { method: 'HEAD' }), 403);
      t.equal(await statusOf(url, { method: 'DELETE' }), 403);
      t.equal(await statusOf(url.replace('video', 'audio'), {}), 403);
      t.equal(await statusOf(url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600'), {}), 403);
      await store.delete(key, never);
    }
  });

  await t.test('a large object under an unusual key', async (t) => {
    const key = `${owner}/large/100% ünïcödé +&?#=.bin`;
    const bytes = patternBytes(store.partBytes(0, 1) + 1);
    await storeObject(store, key, bytes, plain);
    t.ok((await collect(store.read(key, null, never))).equals(bytes));
    await store.delete(key, never);
  });

  await t.test('metadata comes back as it was given, and nothing else', async (t) => {
    const metadata = {
      plain: 'plain text, 100%',
      encoded: 'b%20c',
      unicode: 'ünïcödé 日本語 🙂',
      spaces: '  both ends  ',
      marked: "utf-8''x",
      lines: 'a\r\nb\tc',
    };
    for (const size of [1, store.partBytes(0, 1) + 1]) {
      const key = `${owner}/metadata/${size}`;
      await storeObject(store, key, patternBytes(size), { contentType: 'image/svg+xml', metadata });
      const found = await store.head(key, never);
      t.strictSame(found?.metadata, metadata);
      t.equal(found?.contentType, 'image/svg+xml');
      await store.delete(key, never);
    }
  });

  await t.test('objects of random sizes', async (t) => {
    const largest = 3 * store.partBytes(0, 1) + 2;
    for (let i = 0; i < 20; i++) {
      const size = Math.floor(Math.random() * largest);
      const key = `${owner}/random/${i}`;
      const bytes = patternBytes(size);
      await storeObject(store, key, bytes, plain);
      t.ok((await collect(store.read(key, null, never))).equals(bytes), `${size} bytes`);
      await store.delete(key, never);
    }
  });

  await t.test('a list goes on past a page', async (t) => {
    const prefix = `${owner}/pages/`;
    const keys = Array.from({ length: pageSize + 5 }, (_, i) => `${prefix}${i}`);
    const waiting = [...keys];
    const each = async (work: (key: string) => Promise<void>, from: string[]) => {
      for (let key = from.pop(); key !== undefined; key = from.pop()) await work(key);
    };
    const workers = (work: (key: string) => Promise<void>, from: string[]) =>
      Promise.all(Array.from({ length: 8 }, () => each(work, from)));
    await workers((key) => storeObject(store, key, new Uint8Array(0), plain), waiting);
    t.strictSame(await keysBelow(prefix), [...keys].sort());
    // one page is read when one object is asked for
    for await (const _ of store.list(prefix, never)) break;
    await workers((key) => store.delete(key, never), [...keys]);
    t.strictSame(await keysBelow(prefix), []);
  });

  await t.test('an abort with parts under way leaves no upload and no object', async (t) => {
    for (let i = 0; i < 10; i++) {
      const key = `${owner}/abort/${i}`;
      const writer = await store.create(key, plain, never);
      const bytes = patternBytes(store.partBytes(0, 1));
      const writing = Promise.allSettled([
        writer.writePart(partOf(bytes)),
        writer.writePart(partOf(bytes)),
        writer.writePart(partOf(bytes)),
      ]);
      // at different moments of creating the upload and sending its parts
      await new Promise((resolve) => setTimeout(resolve, i * 4));
      await writer.abort();
      await writing;
      await t.rejects(writer.complete(emptyPart));
      t.equal(await store.head(key, never), null);
    }
    for await (const { key } of store.listOpenUploads(never)) t.notOk(key.startsWith(owner), key);
  });
}
