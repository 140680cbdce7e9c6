/** tus-js-client as it is, against the gateway: whole, in chunks, with checks of its own, after a pause and after an abort. */
import t, { type Test } from 'tap';
import { type PreviousUpload, Upload, type UploadOptions } from 'tus-js-client';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { openStubStore } from '../services/stub-store.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { collect, patternBytes } from './object-store-contract.ts';

const bytes = patternBytes(1_000_000);
const never = new AbortController().signal;

async function fileSystem(t: Test): Promise<ObjectStore> {
  const root = await temporaryFolder(t);
  return createFileSystemStore({ root });
}

const s3 = async (t: Test): Promise<ObjectStore> => (await openStubStore(t)).store;

/** The protocol is no option of its types. */
const draft = (protocol: string, options: Partial<UploadOptions>) =>
  ({ protocol, ...options }) as Partial<UploadOptions>;

async function uploaded(
  endpoint: string,
  options: Partial<UploadOptions>,
  pauseAt = Number.POSITIVE_INFINITY,
) {
  let paused = false;
  await new Promise<void>((resolve, reject) => {
    const upload = new Upload(Buffer.from(bytes), {
      endpoint,
      metadata: { filename: 'Größe 1.png', filetype: 'image/png' },
      retryDelays: [10, 20],
      onError: reject,
      onSuccess: () => resolve(),
      onChunkComplete(_size, accepted) {
        if (paused || accepted < pauseAt) return;
        paused = true;
        // as a user who pauses, and goes on
        void upload.abort().then(() => upload.start());
      },
      ...options,
    });
    upload.start();
  });
}

for (const [name, openStore] of Object.entries({ 'file system': fileSystem, S3: s3 })) {
  t.test(`tus-js-client uploads to the ${name}`, async (t) => {
    const store = await openStore(t);
    const { baseUrl, rows } = await serveGatewayOn(t, store);
    const endpoint = `${baseUrl}/_f_/demo/resumable`;
    const ways: [Partial<UploadOptions>, number?][] = [
      [{}],
      [{ chunkSize: 70_000 }],
      [{ chunkSize: 131_072, uploadDataDuringCreation: true }],
      [{ uploadLengthDeferred: true, chunkSize: 300_000 }],
      [{ chunkSize: 100_000 }, 300_000],
      [{ parallelUploads: 3, chunkSize: 70_000 }],
      [draft('ietf-draft-03', {})],
      [draft('ietf-draft-03', { chunkSize: 70_000 }), 210_000],
      [draft('ietf-draft-05', { uploadDataDuringCreation: true, chunkSize: 300_000 })],
      [draft('ietf-draft-05', { uploadLengthDeferred: true, chunkSize: 300_000 }), 300_000],
    ];
    for (const [index, [options, pauseAt]] of ways.entries()) {
      await uploaded(endpoint, options, pauseAt);
      const file = [...rows.values()][index];
      t.match(file, { originalName: 'Größe 1.png', contentType: 'image/png', size: bytes.byteLength });
      const stored = await collect(store.read(file?.objectKey ?? '', null, never));
      t.ok(stored.equals(bytes), JSON.stringify(options));
    }
    t.equal(rows.size, ways.length);
  });
}

t.test('tus-js-client takes up an upload that another client left, and drops one', async (t) => {
  const store = await s3(t);
  const { baseUrl, rows } = await serveGatewayOn(t, store);
  const endpoint = `${baseUrl}/_f_/demo/resumable`;
  const left = await new Promise<PreviousUpload>((resolve, reject) => {
    const upload = new Upload(Buffer.from(bytes), {
      endpoint,
      chunkSize: 200_000,
      onError: reject,
      onChunkComplete(_size, accepted) {
        if (accepted !== 400_000) return;
        const uploadUrl = upload.url;
        void upload.abort().then(() =>
          resolve({
            uploadUrl,
            size: bytes.byteLength,
            metadata: {},
            creationTime: '',
            urlStorageKey: '',
            parallelUploadUrls: null,
          }),
        );
      },
    });
    upload.start();
  });
  await uploaded(endpoint, { uploadUrl: left.uploadUrl });
  t.equal(rows.size, 1);
  const [file] = rows.values();
  t.ok((await collect(store.read(file?.objectKey ?? '', null, never))).equals(bytes));

  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { 'tus-resumable': '1.0.0', 'upload-length': '10' },
  });
  await Upload.terminate(`${baseUrl}${answer.headers.get('location')}`, {});
  const gone = await fetch(`${baseUrl}${answer.headers.get('location')}`);
  t.equal(gone.status, 404);
});
