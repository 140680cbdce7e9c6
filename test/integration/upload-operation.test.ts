import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { UploadAccess, type UploadAccessDeps } from '#gateway/access/upload-access.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { OwnLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { type UploadDeps, uploadOperation } from '#gateway/operations/upload.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { createRunningUploads } from '#process/lifecycle/workers/running-uploads.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { type FakeRequestArgs, fakeRequest, responseBytes } from '../services/fake-request.ts';
import { noPlaces } from '../services/folder-places.ts';
import { type FormPart, formBody, inChunks, plentyOfMemory } from '../services/multipart-harness.ts';
import { testDeployment } from '../services/new-file.ts';
import { nobodyIsBound, noUsage } from '../services/resumable-uploads.ts';
import { silentLog } from '../services/silent-log.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { untilEmpty } from '../services/until-empty.ts';
import { noUploadKeys } from '../services/upload-keys.ts';

const owner = '7c0ce7f0-6f0e-4a51-8a62-1f0c8a3d0b11';
const never = new AbortController().signal;

const accessOf = (authenticate: UploadAccessDeps['authenticate']) =>
  new UploadAccess({
    authenticate,
    uploadLinks: new UploadLinks({
      keys: createConfiguredKeys('a secret of a test, long enough for it'),
      uses: new OwnLinkUses(),
    }),
    boundAs: nobodyIsBound,
    filesTtl: 0,
    maxUploadBytes: 1_000_000,
    log: silentLog(),
  });
const access = accessOf(async () => ({ userId: owner, tokenId: 't' }));

/** The operation over a real file system store; rows and projects are noted. */
async function setUp(t: Test, change: Partial<UploadDeps> = {}) {
  const root = await temporaryFolder(t);
  const store: ObjectStore = await createFileSystemStore({ root });
  const rows: CloudFile[] = [];
  const ensured: string[] = [];
  const log = silentLog();
  const memory = plentyOfMemory();
  const uploads = createRunningUploads();
  t.teardown(async () => {
    if (!(await uploads.untilIdle(20_000))) throw new Error('an upload is not over');
    if (memory.used !== 0) throw new Error(`${memory.used} bytes of memory were not given back`);
    memory.close();
  });
  const upload = uploadOperation({
    deploymentId: testDeployment,
    usage: noUsage,
    digests: noDigests,
    quota: noQuota,
    checks: null,
    access,
    projects: {
      async ensure(ownerId, slug) {
        ensured.push(`${ownerId}/${slug}`);
        return { id: 'p', ownerId, slug };
      },
    },
    cloudFiles: {
      announce: () => () => {},
      findByName: async () => null,
      async insert(file) {
        rows.push(file);
      },
    },
    store,
    memory,
    keys: noUploadKeys,
    places: noPlaces,
    maxUploadBytes: 1_000_000,
    fileUrl: (file) => `https://files.test/_f_/${file.projectSlug}/${file.name}`,
    uploads,
    log,
    ...change,
  });
  /** Every file of the store, finished or not. */
  const filesLeft = async (): Promise<string[]> => {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  };
  return { root, store, rows, ensured, log, memory, uploads, upload, filesLeft };
}

function uploadRequest(body: Uint8Array, args: FakeRequestArgs = {}) {
  return fakeRequest({
    method: 'POST',
    params: { project: 'demo' },
    chunks: [...inChunks(body, 60_000)],
    contentLength: body.byteLength,
    ...args,
    headers: { 'content-type': 'multipart/form-data; boundary=B', ...args.headers },
  });
}

const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 13 + (i >> 8)) & 0xff));
const goodBody = formBody('B', [
  { name: 'file', fileName: 'dir/Größe 1.png', headers: ['Content-Type: image/png'], content },
]);

t.test('stores the file and answers exactly the seven fields, its size and its type', async (t) => {
  const { upload, store, rows, ensured } = await setUp(t);
  const response = await upload(uploadRequest(goodBody));
  t.match(response, { status: 200, headers: { 'content-type': /^application\/json/ } });
  const file = JSON.parse((await responseBytes(response)).toString()) as Record<string, string>;
  t.strictSame(
    Object.keys(file).sort(),
    '_id contentType createdAt name originalName ownedBy s3Link size updatedAt'.split(' '),
  );
  t.match(file, { size: content.byteLength, contentType: 'image/png' });
  t.match(file._id, /^[0-9a-f-]{36}$/);
  t.equal(file.name, `${file._id}_Gr-e-1.png`);
  t.equal(file.originalName, 'dir/Größe 1.png');
  t.equal(file.ownedBy, owner);
  t.equal(file.s3Link, `https://files.test/_f_/demo/${file.name}`);
  t.equal(file.createdAt, new Date(file.createdAt as string).toISOString());
  t.equal(file.updatedAt, file.createdAt);

  const key = `${testDeployment}/${owner}/demo/${file.name}`;
  t.match(rows, [{ id: file._id, objectKey: key, size: content.byteLength, contentType: 'image/png' }]);
  t.strictSame(ensured, [`${owner}/demo`]);
  t.match(await store.head(key, never), {
    size: content.byteLength,
    contentType: 'image/png',
    metadata: { 'file-id': file._id, 'owner-id': owner, 'project-slug': 'demo' },
  });
  const parts: Uint8Array[] = [];
  for await (const chunk of store.read(key, null, never)) parts.push(chunk);
  t.ok(Buffer.concat(parts).equals(content));
});

t.test('refuses before it reads anything of the body', async (t) => {
  const denied = { access: accessOf(() => Promise.reject(unauthorized('no'))) };
  const cases: [name: string, deps: Partial<UploadDeps>, args: FakeRequestArgs, code: string][] = [
    ['bad slug', {}, { params: { project: '_f_' } }, 'invalid_slug'],
    ['wrong content type', {}, { headers: { 'content-type': 'application/json' } }, 'wrong_content_type'],
    ['no boundary', {}, { headers: { 'content-type': 'multipart/form-data' } }, 'invalid_multipart'],
    ['too long', {}, { contentLength: 1_000_000 + 1024 * 1024 + 1 }, 'payload_too_large'],
    ['bad token', denied, {}, 'unauthorized'],
    ['too long, bad token', denied, { contentLength: 10_000_000_000 }, 'payload_too_large'],
  ];
  for (const [name, deps, args, code] of cases) {
    const { upload, filesLeft, ensured } = await setUp(t, deps);
    const request = uploadRequest(goodBody, args);
    await t.rejects(Promise.resolve(upload(request)), { code }, name);
    t.equal(request.consumed, false, name);
    t.strictSame(await untilEmpty(filesLeft), []);
    t.strictSame(ensured, []);
  }
});

t.test('a refused body leaves no file, no row and no project', async (t) => {
  const file = { name: 'file', fileName: 'a', content };
  const cases: [name: string, body: Uint8Array, code: string][] = [
    ['truncated', goodBody.subarray(0, 200_000), 'invalid_multipart'],
    ['two files', formBody('B', [file, file]), 'invalid_multipart'],
    ['no file', formBody('B', [{ name: 'x', content: 'y' }]), 'missing_file_part'],
    ['empty', Buffer.alloc(0), 'invalid_multipart'],
    ['no parts', Buffer.from('--B--\r\n'), 'missing_file_part'],
    ['noise', Buffer.from('hello, this is no multipart body'), 'invalid_multipart'],
    ['no closing boundary', goodBody.subarray(0, -5), 'invalid_multipart'],
    ['another boundary', formBody('C', [file]), 'invalid_multipart'],
    ['NUL in the name', formBody('B', [{ ...file, fileName: 'a\0b' }]), 'invalid_multipart'],
    ['no file name', formBody('B', [{ ...file, fileName: '' }]), 'invalid_multipart'],
    ['1,001 characters', formBody('B', [{ ...file, fileName: 'x'.repeat(1001) }]), 'invalid_multipart'],
    [
      'other bytes than announced',
      formBody('B', [{ ...file, headers: [`x-checksum-crc32: ${'0'.repeat(8)}`] }]),
      'checksum_mismatch',
    ],
    [
      'a checksum that is none',
      formBody('B', [{ ...file, headers: ['Content-MD5: nonsense'] }]),
      'invalid_multipart',
    ],
    ['too large', formBody('B', [{ ...file, content: Buffer.alloc(1_000_001) }]), 'payload_too_large'],
  ];
  for (const [name, body, code] of cases) {
    const { upload, filesLeft, rows, ensured } = await setUp(t);
    await t.rejects(Promise.resolve(upload(uploadRequest(body))), { code }, name);
    t.strictSame(await untilEmpty(filesLeft), [], name);
    t.strictSame([rows, ensured], [[], []], name);
  }
});

t.test('a chunk of a file is refused, and not stored as a file', async (t) => {
  const file = { name: 'file', fileName: 'blob', content };
  const chunk = (index: string, total: string, chunks: string) =>
    formBody('B', [{ name: index, content: '1' }, { name: total, content: chunks }, file]);
  const fields = [
    ['dzchunkindex', 'dztotalchunkcount'],
    ['resumableChunkNumber', 'resumableTotalChunks'],
    ['flowChunkNumber', 'flowTotalChunks'],
    ['qqpartindex', 'qqtotalparts'],
  ] as const;
  const after = formBody('B', [file, { name: 'dzchunkindex', content: '0' }]);
  const cases: [string, Uint8Array, FakeRequestArgs][] = [
    ['Content-Range', goodBody, { headers: { 'content-range': 'bytes 0-9/100' } }],
    ['dzchunkindex', after, {}],
    ...fields.map(([index, total]) => [index, chunk(index, total, '7'), {}] as [string, Uint8Array, object]),
  ];
  for (const [sign, body, args] of cases) {
    const { upload, filesLeft, rows } = await setUp(t);
    const refused = { status: 400, code: 'chunks_unsupported', message: new RegExp(sign) };
    await t.rejects(Promise.resolve(upload(uploadRequest(body, args))), refused);
    t.strictSame(await untilEmpty(filesLeft), [], sign);
    t.strictSame(rows, [], sign);
  }
  const { upload, rows } = await setUp(t);
  for (const [index, total] of fields) await upload(uploadRequest(chunk(index, total, '1')));
  t.equal(rows.length, fields.length, 'a chunk that is the whole file is a file');
});

t.test("checksums of request and fields are checked: a browser can't set those of a part", async (t) => {
  const file = { name: 'file', fileName: 'a', content };
  const md5 = createHash('md5').update(content).digest('base64');
  const sum = crc32(content).toString(16).padStart(8, '0');
  const md5Field = { name: 'Content-MD5', content: md5 };
  const sumField = { name: 'x-checksum-crc32', content: sum };
  const { upload, rows, filesLeft } = await setUp(t);
  const send = (parts: readonly FormPart[], headers: Record<string, string> = {}) =>
    Promise.resolve(upload(uploadRequest(formBody('B', parts), { headers })));
  await send([file], { 'content-md5': md5, 'x-checksum-crc32': sum });
  await send([md5Field, sumField, file], { 'content-md5': md5 });
  await send([{ ...file, headers: [`Content-MD5: ${md5}`] }, md5Field, sumField]);
  t.equal(rows.length, 3);
  const stored = (await filesLeft()).length;
  const wrong = createHash('md5').digest('base64');
  const refused: [readonly FormPart[], Record<string, string>, string][] = [
    [[file], { 'content-md5': wrong }, 'checksum_mismatch'],
    [[file], { 'x-checksum-crc32': '00000000' }, 'checksum_mismatch'],
    [[{ ...md5Field, content: wrong }, file], {}, 'checksum_mismatch'],
    [[{ ...md5Field, content: wrong }, file], { 'content-md5': md5 }, 'checksum_mismatch'],
    [[file, { ...sumField, content: 'AAAAAA==' }], {}, 'checksum_mismatch'],
    [[file, md5Field], {}, 'invalid_multipart'],
    [[file], { 'content-md5': 'none' }, 'invalid_multipart'],
    [[{ ...sumField, content: 'x'.repeat(200_000) }, file], {}, 'invalid_multipart'],
  ];
  for (const [parts, headers, code] of refused) await t.rejects(send(parts, headers), { code });
  t.equal(rows.length, 3);
  await eventuallyEqual(t, async () => (await filesLeft()).length, stored, 'nothing is left of the others');
});

t.test('a name of 1,000 characters, four bytes each', async (t) => {
  const { upload } = await setUp(t);
  const fileName = '😀'.repeat(1000);
  const response = await upload(uploadRequest(formBody('B', [{ name: 'file', fileName, content: 'x' }])));
  t.match(JSON.parse((await responseBytes(response)).toString()), { originalName: fileName });
});

t.test('a client that goes away before the end leaves nothing', async (t) => {
  for (const bytes of [0, 50, 200_000, goodBody.byteLength]) {
    const { upload, filesLeft, rows } = await setUp(t);
    const request = uploadRequest(goodBody, {
      onConsume(sink) {
        if (bytes > 0) sink.write(new Uint8Array(goodBody.subarray(0, bytes)));
        sink.fail(new Error('gone'));
      },
    });
    await t.rejects(Promise.resolve(upload(request)), { message: 'gone' });
    t.strictSame(await untilEmpty(filesLeft), [], `after ${bytes} bytes`);
    t.strictSame(rows, []);
  }
});

t.test('a client gone after its last byte, before the object is complete, leaves nothing', async (t) => {
  const controller = new AbortController();
  const { upload, filesLeft, rows } = await setUp(t, {
    projects: {
      async ensure(ownerId: string, slug: string) {
        controller.abort(new Error('gone'));
        return { id: 'p', ownerId, slug };
      },
    },
  });
  const request: HttpRequest = uploadRequest(goodBody, { signal: controller.signal });
  await t.rejects(Promise.resolve(upload(request)), { message: 'gone' });
  t.strictSame(await untilEmpty(filesLeft), []);
  t.strictSame(rows, []);
});

t.test('a client that goes away once the object is complete still gets its row', async (t) => {
  const controller = new AbortController();
  const rows: CloudFile[] = [];
  const { upload } = await setUp(t, {
    cloudFiles: {
      announce: () => () => {},
      findByName: async () => null,
      async insert(file: CloudFile, signal: AbortSignal) {
        controller.abort(new Error('gone'));
        signal.throwIfAborted();
        rows.push(file);
      },
    },
  });
  await upload(uploadRequest(goodBody, { signal: controller.signal }));
  t.equal(rows.length, 1);
});

t.test('a failed upload is over, and its memory free, once the store has let go of it', async (t) => {
  const wrong = { name: 'file', fileName: 'a', headers: [`x-checksum-crc32: ${'0'.repeat(8)}`], content };
  const cases: [name: string, body: Uint8Array, code: string][] = [
    ['its bytes are refused', formBody('B', [wrong]), 'checksum_mismatch'],
    ['it can not be completed', goodBody, 'StoreBroken'],
  ];
  for (const [name, body, code] of cases) {
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const root = await temporaryFolder(t);
    const inner = await createFileSystemStore({ root });
    const store: ObjectStore = {
      ...inner,
      async create(...args) {
        const writer = await inner.create(...args);
        return {
          writePart: (part) => writer.writePart(part),
          complete: () => Promise.reject(Object.assign(new Error('no'), { code: 'StoreBroken' })),
          abort: () => held.then(() => writer.abort()),
        };
      },
    };
    const { upload, memory, uploads } = await setUp(t, { store });
    await t.rejects(Promise.resolve(upload(uploadRequest(body))), { code }, name);
    // whatever need not wait has run by now
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    // bytes that are refused while they are few have not begun an object
    const begun = code === 'StoreBroken';
    t.equal(uploads.open, begun ? 1 : 0, `${name}: the store has not let go of what was begun`);
    if (begun) t.ok(memory.used > 0, 'and may still read what the memory holds');
    letGo();
    t.ok(await uploads.untilIdle(20_000));
    t.equal(memory.used, 0, name);
  }
});

t.test('a row that cannot be stored takes the object with it, and the answer is 500', async (t) => {
  const { upload, filesLeft } = await setUp(t, {
    cloudFiles: {
      announce: () => () => {},
      findByName: async () => null,
      insert: () => Promise.reject(new Error('disk full')),
    },
  });
  await t.rejects(Promise.resolve(upload(uploadRequest(goodBody))), {
    code: 'internal_error',
    cause: { message: 'disk full' },
  });
  t.strictSame(await untilEmpty(filesLeft), []);
});

t.test('an object that cannot be taken back is logged', async (t) => {
  const { upload, log, store } = await setUp(t, {});
  const failing = uploadOperation({
    deploymentId: testDeployment,
    usage: noUsage,
    digests: noDigests,
    quota: noQuota,
    checks: null,
    access,
    projects: { ensure: async (ownerId, slug) => ({ id: 'p', ownerId, slug }) },
    cloudFiles: {
      announce: () => () => {},
      findByName: async () => null,
      insert: () => Promise.reject(new Error('disk full')),
    },
    store: {
      concurrentParts: store.concurrentParts,
      shortParts: store.shortParts,
      partBytes: store.partBytes,
      create: store.create,
      delete: () => Promise.reject(new Error('store away')),
    },
    memory: plentyOfMemory(),
    keys: noUploadKeys,
    places: noPlaces,
    maxUploadBytes: 1_000_000,
    fileUrl: () => '',
    uploads: createRunningUploads(),
    log,
  });
  await t.rejects(Promise.resolve(failing(uploadRequest(goodBody))), { code: 'internal_error' });
  t.match(log.failures, [/an object has no row/]);
  t.ok(upload);
});

t.test('a store without room fails the upload and leaves nothing', async (t) => {
  const { upload, root, rows } = await setUp(t);
  await rm(join(root, 'objects'), { recursive: true });
  await writeFile(join(root, 'objects'), 'a file where a folder should be');
  await t.rejects(Promise.resolve(upload(uploadRequest(goodBody))));
  t.strictSame(await untilEmpty(() => readdir(join(root, 'tmp'))), []);
  t.notOk(
    existsSync(join(root, 'meta', owner, 'demo')) &&
      (await readdir(join(root, 'meta', owner, 'demo'))).length,
  );
  t.strictSame(rows, []);
});
