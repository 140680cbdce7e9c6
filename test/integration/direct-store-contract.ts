import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type {
  DirectStore,
  DirectUpload,
  PartToSend,
  SignedPut,
  UploadedPart,
} from '#objects/direct-store.ts';
import type { ObjectDescription } from '#objects/object-description.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { checksumText } from '#objects/s3/s3-checksums.ts';
import { slowCrc32c } from '../services/s3-stub/crc32c.ts';
import { collect, patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;
const description: ObjectDescription = {
  contentType: 'text/plain',
  metadata: { 'original-name': 'b%20c' },
  served: { contentType: 'application/octet-stream', contentDisposition: 'attachment; filename="a.txt"' },
};
/** Seconds. */
const lifetime = 60;

export interface DirectServer {
  readonly store: ObjectStore;
  /** The least of a part that is not the last one. Bytes. */
  readonly partBytes: number;
  /** Whether it refuses requests that are signed otherwise. Mocks accept all. */
  readonly checksSignatures: boolean;
  /** Whether it finds that a part in the middle is too small. */
  readonly refusesSmallParts?: boolean;
}

/** What a server answered in each case: a row of the table in docs/decisions/081-direct-uploads-to-s3.md. */
export type DirectOutcomes = Map<string, string>;

/** The upload of a case. */
interface Sent {
  readonly upload: DirectUpload;
  /** Sends a part with its MD5, and its CRC-32C if the upload has checksums. @returns the status */
  put(number: number, bytes: Uint8Array, given?: Partial<PartToSend>): Promise<number>;
  complete(numbers?: readonly number[]): Promise<boolean>;
  read(): Promise<Buffer>;
}

export function md5Text(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64');
}

export function crc32cText(bytes: Uint8Array): string {
  return checksumText(slowCrc32c(bytes));
}

/** Sends the bytes as a browser would. */
export async function send({ url, headers }: SignedPut, bytes: Uint8Array, method = 'PUT'): Promise<number> {
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const answer = await fetch(url, {
    method,
    headers,
    ...(hasBody && { body: bytes as Uint8Array<ArrayBuffer> }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** What every DirectStore promises, with clients that do what they should not. */
export async function directStoreContract(t: Test, server: DirectServer): Promise<DirectOutcomes> {
  const { store } = server;
  const direct = store.direct as DirectStore;
  const abilities = await direct.abilities(never);
  const outcomes: DirectOutcomes = new Map([['abilities', JSON.stringify(abilities)]]);
  const owner = randomUUID();
  const open: DirectUpload[] = [];
  let made = 0;

  const begin = async (multipart: boolean, checksums = false): Promise<Sent> => {
    const key = `${owner}/project/${++made}_file.bin`;
    const uploadId = multipart ? await direct.begin(key, description, { checksums }, never) : null;
    const upload: DirectUpload = { key, description, uploadId, checksums };
    if (multipart) open.push(upload);
    const sums = new Map<number, string>();
    return {
      upload,
      async put(number, bytes, given = {}) {
        const md5 = md5Text(bytes);
        const crc32c = checksums ? crc32cText(bytes) : undefined;
        const part: PartToSend = { number, size: bytes.byteLength, md5, crc32c, ...given };
        const status = await send(await direct.putAddress(upload, part, lifetime), bytes);
        if (status === 200 && crc32c !== undefined) sums.set(number, crc32c);
        return status;
      },
      async complete(numbers) {
        const listed = (await direct.listParts(upload, never)) ?? [];
        const named = numbers?.map(
          (number) => listed.find((part) => part.number === number) ?? missing(number),
        );
        const parts = (named ?? listed).map((part) => ({ ...part, crc32c: sums.get(part.number) }));
        return direct.complete(upload, parts, never);
      },
      read: () => collect(store.read(key, null, never)),
    };
  };
  const context = { server, direct, abilities, begin, outcomes };
  await oneObject(t, context);
  await parts(t, context);
  await wrongParts(t, context);
  await ends(t, context);
  await addresses(t, context);
  for (const upload of open) await direct.abort(upload, never);
  for await (const { key } of store.list(`${owner}/`, never)) await store.delete(key, never);
  return outcomes;
}

interface CaseContext {
  readonly server: DirectServer;
  readonly direct: DirectStore;
  readonly abilities: Awaited<ReturnType<DirectStore['abilities']>>;
  readonly outcomes: DirectOutcomes;
  begin(multipart: boolean, checksums?: boolean): Promise<Sent>;
}

function missing(number: number): UploadedPart {
  return { number, size: 1, etag: '0'.repeat(32) };
}

const isRefusal = (status: number): boolean => status >= 400;

/** What `complete` came to. */
async function outcomeOf(work: Promise<boolean>): Promise<string> {
  return work.then(
    (done) => (done ? 'completed' : 'no such upload'),
    (error: Error) => `refused: ${/: (\d{3} \w+)/.exec(error.message)?.[1] ?? error.message}`,
  );
}

/** A status, and what it left behind. */
const told = (status: number, left: string): string => `${status}, ${left}`;

async function oneObject(
  t: Test,
  { server, direct, abilities, begin, outcomes }: CaseContext,
): Promise<void> {
  const { store } = server;
  const bytes = patternBytes(70_001);
  const same = bytes.toReversed();

  await t.test('an object that is sent at once', async (t) => {
    const { upload, put, read } = await begin(false, abilities.checksChecksums);
    t.equal(await direct.inspect(upload.key, never), null);
    const status = await put(1, bytes);
    outcomes.set('one object', `${status}`);
    t.equal(status, 200);
    const found = await direct.inspect(upload.key, never);
    t.equal(found?.size, bytes.byteLength);
    if (abilities.etagIsMd5) t.equal(found?.etag, createHash('md5').update(bytes).digest('hex'));
    if (found?.crc32c !== undefined) t.equal(found.crc32c, crc32cText(bytes));
    t.ok((await read()).equals(bytes));
    t.match(await store.head(upload.key, never), {
      contentType: 'text/plain',
      metadata: description.metadata,
    });
  });

  await t.test('an object of another length', async (t) => {
    const { upload, put } = await begin(false);
    const status = await put(1, bytes, { size: bytes.byteLength + 1, md5: undefined });
    const found = await direct.inspect(upload.key, never);
    outcomes.set(
      'object of another length',
      told(status, found === null ? 'nothing stored' : 'size shows it'),
    );
    if (server.checksSignatures) t.ok(isRefusal(status), `${status}`);
    t.equal(found === null, isRefusal(status));
    t.not(found?.size, bytes.byteLength + 1);
  });

  await t.test('an object with another MD5', async (t) => {
    const { upload, put } = await begin(false);
    const status = await put(1, same, { md5: md5Text(bytes) });
    outcomes.set('object with another MD5', `${status}`);
    if (abilities.checksMd5) t.ok(isRefusal(status), `${status}`);
    t.equal((await direct.inspect(upload.key, never)) === null, isRefusal(status));
  });

  await t.test('an object with another CRC-32C', async (t) => {
    const { upload, put } = await begin(false, true);
    const status = await put(1, same, { md5: undefined, crc32c: crc32cText(bytes) });
    outcomes.set('object with another CRC-32C', `${status}`);
    if (abilities.checksChecksums) t.ok(isRefusal(status), `${status}`);
    t.equal((await direct.inspect(upload.key, never)) === null, isRefusal(status));
  });

  await t.test('an object that is sent again', async (t) => {
    const { put, read } = await begin(false);
    t.equal(await put(1, bytes), 200);
    const status = await put(1, same);
    outcomes.set('object sent again', `${status}`);
    t.equal(isRefusal(status), abilities.refusesOverwrite);
    t.ok((await read()).equals(isRefusal(status) ? bytes : same));
  });
}

async function parts(t: Test, { server, direct, abilities, begin, outcomes }: CaseContext): Promise<void> {
  const { store, partBytes } = server;
  for (const [name, checksums] of [
    ['parts', false],
    ['parts with CRC-32C', true],
  ] as const) {
    if (checksums && !abilities.checksChecksums) continue;
    await t.test(`an object of ${name}`, async (t) => {
      const { upload, put, complete, read } = await begin(true, checksums);
      const bytes = patternBytes(2 * partBytes + 15);
      const sent = [
        bytes.subarray(0, partBytes),
        bytes.subarray(partBytes, 2 * partBytes),
        bytes.subarray(2 * partBytes),
      ];
      const statuses = await Promise.all(sent.map((part, i) => put(i + 1, part)));
      t.strictSame(statuses, [200, 200, 200]);
      const listed = await direct.listParts(upload, never);
      t.match(
        listed,
        sent.map((part, i) => ({ number: i + 1, size: part.byteLength })),
      );
      if (abilities.etagIsMd5) {
        const digests = sent.map((part) => createHash('md5').update(part).digest('hex'));
        t.strictSame(
          listed?.map(({ etag }) => etag),
          digests,
        );
      }
      t.equal(await direct.inspect(upload.key, never), null, 'nothing is visible before');
      const outcome = await outcomeOf(complete());
      outcomes.set(name, outcome);
      t.equal(outcome, 'completed');
      const found = await direct.inspect(upload.key, never);
      t.equal(found?.size, bytes.byteLength);
      const shown = [found?.crc32c && 'CRC-32C', found?.crc64nvme && 'CRC-64'].filter(Boolean);
      outcomes.set(`checksums of ${name}`, shown.join(', ') || 'none');
      if (found?.crc32c !== undefined) t.equal(found.crc32c, crc32cText(bytes));
      t.ok((await read()).equals(bytes));
      t.match(await store.head(upload.key, never), {
        contentType: 'text/plain',
        metadata: description.metadata,
      });
    });
  }

  await t.test('an upload of one part', async (t) => {
    const { put, complete, read } = await begin(true);
    t.equal(await put(1, patternBytes(10)), 200);
    t.equal(await outcomeOf(complete()), 'completed');
    t.ok((await read()).equals(patternBytes(10)));
  });

  await t.test('parts are listed by number', async (t) => {
    const { upload, put } = await begin(true);
    t.strictSame(await direct.listParts(upload, never), []);
    for (const number of [10, 2, 1, 3]) t.equal(await put(number, patternBytes(number)), 200);
    const listed = await direct.listParts(upload, never);
    t.match(
      listed,
      [1, 2, 3, 10].map((number) => ({ number, size: number })),
    );
    t.equal(listed?.length, 4);
    outcomes.set('list of 1, 2, 3, 10', listed?.map(({ number }) => number).join(' ') ?? '');
  });
}

async function wrongParts(
  t: Test,
  { server, direct, abilities, begin, outcomes }: CaseContext,
): Promise<void> {
  const { partBytes, checksSignatures, refusesSmallParts = true } = server;
  const bytes = patternBytes(1000);
  const same = bytes.toReversed();

  await t.test('a part of another length', async (t) => {
    const { upload, put } = await begin(true);
    const status = await put(1, bytes, { size: 999, md5: undefined });
    if (checksSignatures) t.ok(isRefusal(status), `${status}`);
    const listed = await direct.listParts(upload, never);
    outcomes.set(
      'part of another length',
      told(status, listed?.length === 0 ? 'nothing stored' : 'size shows it'),
    );
    for (const { size } of listed ?? []) t.not(size, 999);
  });

  await t.test('a part with another MD5', async (t) => {
    const { upload, put } = await begin(true);
    const status = await put(1, same, { md5: md5Text(bytes) });
    const [left] = (await direct.listParts(upload, never)) ?? [];
    outcomes.set(
      'part with another MD5',
      told(status, left === undefined ? 'nothing stored' : 'ETag shows it'),
    );
    if (abilities.checksMd5) t.ok(isRefusal(status), `${status}`);
    // rclone may list a part that it has refused
    if (abilities.etagIsMd5 && left !== undefined)
      t.equal(left.etag, createHash('md5').update(same).digest('hex'));
  });

  await t.test('a part with another CRC-32C', async (t) => {
    const { upload, put } = await begin(true, true).catch(() => begin(true));
    const status = await put(1, same, { md5: undefined, crc32c: crc32cText(bytes) });
    outcomes.set('part with another CRC-32C', `${status}`);
    if (abilities.checksChecksums) t.ok(isRefusal(status), `${status}`);
    t.equal((await direct.listParts(upload, never))?.length, isRefusal(status) ? 0 : 1);
  });

  await t.test('a part that is sent again', async (t) => {
    const { upload, put, complete, read } = await begin(true);
    t.equal(await put(1, bytes), 200);
    const status = await put(1, same);
    const kept = isRefusal(status) ? bytes : same;
    const listed = await direct.listParts(upload, never);
    t.equal(listed?.length, 1);
    if (abilities.etagIsMd5) t.equal(listed?.[0]?.etag, createHash('md5').update(kept).digest('hex'));
    t.equal(await outcomeOf(complete()), 'completed');
    t.ok((await read()).equals(kept));
    outcomes.set('part sent again', `${status}, the ${isRefusal(status) ? 'first' : 'newest'} stays`);
  });

  await t.test('a part that is missing', async (t) => {
    const { upload, put, complete } = await begin(true);
    t.equal(await put(1, patternBytes(partBytes)), 200);
    t.equal(await put(3, bytes), 200);
    const outcome = await outcomeOf(complete([1, 2, 3]));
    outcomes.set('missing part', outcome);
    t.match(outcome, /^refused/);
    t.equal(await direct.inspect(upload.key, never), null);
  });

  await t.test('a small part in the middle', async (t) => {
    const { upload, put, complete } = await begin(true);
    t.equal(await put(1, bytes), 200);
    t.equal(await put(2, patternBytes(partBytes)), 200);
    const outcome = await outcomeOf(complete());
    outcomes.set('small middle part', outcome);
    if (refusesSmallParts) t.match(outcome, /^refused/);
    t.equal((await direct.inspect(upload.key, never)) === null, refusesSmallParts);
  });
}

async function ends(t: Test, { server, direct, begin, outcomes }: CaseContext): Promise<void> {
  const bytes = patternBytes(1000);
  const other = bytes.toReversed();

  await t.test('complete twice', async (t) => {
    const { upload, put, read } = await begin(true);
    t.equal(await put(1, bytes), 200);
    const listed = (await direct.listParts(upload, never)) ?? [];
    t.equal(await direct.complete(upload, listed, never), true);
    const again = await outcomeOf(direct.complete(upload, listed, never));
    outcomes.set('complete twice', again);
    t.ok(['completed', 'no such upload'].includes(again), again);
    t.ok((await read()).equals(bytes));

    const late = await put(1, other);
    const after = await direct.listParts(upload, never);
    outcomes.set(
      'part after completion',
      told(late, after === null ? 'no upload' : `${after.length} listed`),
    );
    t.ok((await read()).equals(bytes), 'the object stays');
    await direct.abort(upload, never);
    t.equal((await direct.inspect(upload.key, never))?.size, bytes.byteLength);
  });

  await t.test('complete after abort', async (t) => {
    const { upload, put } = await begin(true);
    t.equal(await put(1, bytes), 200);
    const listed = (await direct.listParts(upload, never)) ?? [];
    await direct.abort(upload, never);
    await direct.abort(upload, never);
    t.equal(await direct.listParts(upload, never), null);
    const outcome = await outcomeOf(direct.complete(upload, listed, never));
    outcomes.set('complete after abort', outcome);
    t.equal(outcome, 'no such upload');

    const late = await put(1, other);
    outcomes.set('part after abort', `${late}`);
    if (late !== 200) t.equal(await direct.listParts(upload, never), null);
    t.equal(await direct.inspect(upload.key, never), null);
    for await (const { key } of server.store.listOpenUploads(never)) t.not(key, upload.key);
  });
}

async function addresses(t: Test, { server, direct, begin, outcomes }: CaseContext): Promise<void> {
  const bytes = patternBytes(100);
  const { checksSignatures } = server;
  const refused = (t: Test, name: string, status: number): void => {
    outcomes.set(name, `${status}`);
    if (checksSignatures) t.ok(isRefusal(status), `${name}: ${status}`);
  };

  await t.test('addresses that are not ours as they were', async (t) => {
    const { upload } = await begin(true);
    const part = { number: 1, size: bytes.byteLength, md5: md5Text(bytes) };
    const put = await direct.putAddress(upload, part, lifetime);
    const altered = { ...put, url: put.url.replace('partNumber=1', 'partNumber=2') };
    refused(t, 'altered address', await send(altered, bytes));
    const { 'content-md5': _, ...fewer } = put.headers;
    refused(t, 'signed header left out', await send({ ...put, headers: fewer }, bytes));
    refused(t, 'GET', await send(put, bytes, 'GET'));
    refused(t, 'DELETE', await send(put, bytes, 'DELETE'));
    const short = await direct.putAddress(upload, part, 1);
    await sleep(2500);
    refused(t, 'expired address', await send(short, bytes));
    if (checksSignatures) t.strictSame(await direct.listParts(upload, never), []);
  });
}
