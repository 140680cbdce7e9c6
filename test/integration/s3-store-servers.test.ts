import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { S3Timing } from '#objects/s3/s3-options.ts';
import { partOf, storeObject } from '../services/store-object.ts';
import { openStubStore } from '../services/stub-store.ts';
import { patternBytes } from './object-store-contract.ts';

/** What servers do that a right one, such as the stub, doesn't. */
const never = new AbortController().signal;

async function openStore(t: Test, answer: RequestListener, timing: Partial<S3Timing> = {}) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return openStubStore(t, {
    endpoint: `http://127.0.0.1:${port}`,
    partBytes: 32 * 1024 ** 2,
    // some of these can't take anything back
    timing: { cleanup: 500, ...timing },
  });
}

const onePart = '<ListPartsResult><Part><PartNumber>1</PartNumber></Part></ListPartsResult>';
const openUploads = (key: string, id: string) =>
  `<ListMultipartUploadsResult><Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload></ListMultipartUploadsResult>`;
const errorXml = (code: string) => `<Error><Code>${code}</Code><Message>no</Message></Error>`;

t.test('an answer before the body is read ends the request', async (t) => {
  let requests = 0;
  const { store } = await openStore(t, (_, res) => {
    requests++;
    // the body stays unread, and the connection open
    res.writeHead(403).end(errorXml('AccessDenied'));
  });
  await t.rejects(storeObject(store, 'o/p/n', patternBytes(32 * 1024 ** 2)), { message: /403 AccessDenied/ });
  t.equal(requests, 1);
});

t.test('an upload that outlives its abort is aborted again', async (t) => {
  const calls: string[] = [];
  const { store } = await openStore(t, (req, res) => {
    calls.push(req.method ?? '');
    if (req.method === 'DELETE') res.writeHead(204).end();
    // parts that were under way have landed after the first abort
    else if (calls.length < 4) res.end(onePart);
    else res.writeHead(404).end(errorXml('NoSuchUpload'));
  });
  await store.abortUpload({ key: 'o/p/n', id: 'x', since: new Date() }, never);
  t.strictSame(calls, ['DELETE', 'GET', 'DELETE', 'GET']);
});

t.test('a part that was given up brings its upload back, which is aborted again (Versity)', async (t) => {
  let there = true;
  let aborts = 0;
  const { store } = await openStore(t, (req, res) => {
    req.resume();
    if (req.method === 'POST') {
      res.end('<InitiateMultipartUploadResult><UploadId>x</UploadId></InitiateMultipartUploadResult>');
    } else if (req.method === 'DELETE') {
      // the part arrives before the second abort at the latest
      if (++aborts === 2) there = true;
      res.writeHead(there ? 204 : 404).end(there ? '' : errorXml('NoSuchUpload'));
      there = false;
    } else if (req.method === 'GET') {
      res.writeHead(there ? 200 : 404).end(there ? onePart : errorXml('NoSuchUpload'));
      // and not before a look that comes right after the first
      if (aborts === 1) there = true;
    }
    // a part is not answered
  });
  const writer = await store.create('o/p/n', { contentType: 'text/plain', metadata: {} }, never);
  const writing = writer.writePart(partOf(patternBytes(32 * 1024 ** 2)));
  const rejected = t.rejects(writing);
  await sleep(50);
  await writer.abort();
  await rejected;
  t.equal(there, false);
  t.equal(aborts, 2);
});

t.test('a list without parts of an upload that is not open is its end (SeaweedFS)', async (t) => {
  const calls: string[] = [];
  const { store, log } = await openStore(t, (req, res) => {
    calls.push(`${req.method} ${/[?&](uploads|uploadId)/.exec(req.url ?? '')?.[1]}`);
    if (req.method === 'DELETE') res.writeHead(204).end();
    else if (req.url?.includes('uploadId')) res.end('<ListPartsResult></ListPartsResult>');
    else res.end(openUploads('o/p/n2', 'y'));
  });
  await store.abortUpload({ key: 'o/p/n', id: 'x', since: new Date() }, never);
  t.strictSame(calls, ['DELETE uploadId', 'GET uploadId', 'GET uploads']);
  t.strictSame(log.failures, []);
});

t.test('who may not list parts believes the second abort', async (t) => {
  const calls: string[] = [];
  const { store } = await openStore(t, (req, res) => {
    calls.push(req.method ?? '');
    if (req.method === 'DELETE') res.writeHead(204).end();
    else res.writeHead(403).end(errorXml('AccessDenied'));
  });
  await store.abortUpload({ key: 'o/p/n', id: 'x', since: new Date() }, never);
  t.strictSame(calls, ['DELETE', 'GET', 'DELETE', 'GET']);
});

t.test('an upload that can not be got rid of is an error', async (t) => {
  const { store } = await openStore(t, (req, res) => {
    if (req.method === 'DELETE') res.writeHead(204).end();
    else if (req.url?.includes('uploadId')) res.end('<ListPartsResult></ListPartsResult>');
    else res.end(openUploads('o/p/n', 'x'));
  });
  const upload = { key: 'o/p/n', id: 'x', since: new Date() };
  await t.rejects(store.abortUpload(upload, never), { name: 'StoreUnavailable', message: /still there/ });
});

t.test('an answer that is no S3 is an error that shows it', async (t) => {
  const { store } = await openStore(t, (req, res) => {
    req.resume();
    res.writeHead(404, { 'content-type': 'text/html' }).end('<html>no such page</html>');
  });
  await t.rejects(storeObject(store, 'o/p/n', patternBytes(10)), { message: /404 Http404: Not Found/ });
});

t.test('an answer without end is cut off', async (t) => {
  let cut = 0;
  const endless: RequestListener = (req, res) => {
    req.resume();
    res.on('close', () => cut++);
    res.writeHead(400);
    const more = () => {
      while (!res.destroyed && res.write(Buffer.alloc(16 * 1024)));
    };
    res.on('drain', more);
    more();
  };
  // what is broken is tried again for so long
  const { store } = await openStore(t, endless, { request: 1000 });
  // on a busy machine the last of these attempts may have had no time for it
  await t.rejects(storeObject(store, 'o/p/n', patternBytes(10)), { message: /too long|no answer/ });
  t.ok(cut > 1, `${cut} answers were cut off`);
});

const part = (number: number, size: number, at: string) =>
  `<Part><PartNumber>${number}</PartNumber><Size>${size}</Size><ETag>"${size}"</ETag><LastModified>${at}</LastModified></Part>`;
const early = '2026-01-01T00:00:00.000Z';
const late = '2026-01-01T00:00:01.000Z';

t.test('parts are listed by number and once, in whatever way the server lists them (s3proxy)', async (t) => {
  const pages: readonly (readonly [string, string])[] = [
    // sorted as text, all at once although they are "truncated", and without a marker
    [[1, 10, 2, 3].map((n) => part(n, n, early)).join(''), '<IsTruncated>true</IsTruncated>'],
    [
      [1, 10, 2, 3].map((n) => part(n, n, early)).join(''),
      '<IsTruncated>true</IsTruncated><NextPartNumberMarker>0</NextPartNumberMarker>',
    ],
    // twice: the newest counts, whichever comes first
    [
      part(1, 1, early) +
        part(2, 2, late) +
        part(2, 7, early) +
        part(3, 9, early) +
        part(3, 3, late) +
        part(10, 10, early),
      '',
    ],
  ];
  for (const [parts, rest] of pages) {
    const { store } = await openStore(t, (_, res) => {
      res.end(`<ListPartsOutput>${parts}${rest}</ListPartsOutput>`);
    });
    const upload = {
      key: 'o/p/n',
      description: { contentType: 'a/b', metadata: {} },
      uploadId: 'x',
      checksums: false,
    };
    t.strictSame(
      await store.direct?.listParts(upload, never),
      [1, 2, 3, 10].map((n) => ({ number: n, size: n, etag: `${n}` })),
    );
  }
});

t.test(
  'a list without parts of an upload that is gone is no upload, unless the server does not say (SeaweedFS)',
  async (t) => {
    const upload = {
      key: 'o/p/n',
      description: { contentType: 'a/b', metadata: {} },
      uploadId: 'x',
      checksums: false,
    };
    const answers: readonly (readonly [RequestListener, unknown])[] = [
      [(_, res) => res.end(openUploads('o/p/n', 'y')), null],
      [(_, res) => res.end(openUploads('o/p/n', 'x')), []],
      [(_, res) => res.writeHead(403).end(errorXml('AccessDenied')), []],
      [(_, res) => res.writeHead(501).end(errorXml('NotImplemented')), []],
    ];
    for (const [answer, expected] of answers) {
      const { store } = await openStore(t, (req, res) => {
        if (req.url?.includes('uploadId')) res.end('<ListPartsResult></ListPartsResult>');
        else answer(req, res);
      });
      t.strictSame(await store.direct?.listParts(upload, never), expected);
    }
  },
);

t.test('checksums of an object are those of all its bytes', async (t) => {
  const cases: readonly (readonly [Record<string, string>, object])[] = [
    [{ 'x-amz-checksum-crc32c': '4waSgw==', 'x-amz-checksum-type': 'FULL_OBJECT' }, { crc32c: '4waSgw==' }],
    [{ 'x-amz-checksum-crc32c': '4waSgw==' }, { crc32c: '4waSgw==' }],
    [{ 'x-amz-checksum-crc32c': '4waSgw==-3' }, {}],
    [{ 'x-amz-checksum-crc32c': '4waSgw==', 'x-amz-checksum-type': 'COMPOSITE' }, {}],
    [{ 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' }, { crc64nvme: 'AAAAAAAAAAA=' }],
    [{ 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=-3' }, {}],
  ];
  for (const [headers, expected] of cases) {
    const { store } = await openStore(t, (_, res) => {
      res.writeHead(200, { etag: '"e"', 'content-length': '5000000000', ...headers }).end();
    });
    const none = { crc32c: undefined, crc64nvme: undefined };
    t.strictSame(await store.direct?.inspect('o/p/n', never), {
      size: 5_000_000_000,
      etag: 'e',
      ...none,
      ...expected,
    });
  }
});

t.test('a server that refuses to show checksums shows the object', async (t) => {
  for (const status of [400, 403, 501]) {
    const { store } = await openStore(t, (req, res) => {
      if (req.headers['x-amz-checksum-mode'] !== undefined) res.writeHead(status).end();
      else res.writeHead(200, { etag: '"e"', 'content-length': '3' }).end();
    });
    t.match(await store.direct?.inspect('o/p/n', never), { size: 3, etag: 'e' }, `${status}`);
  }
});

t.test('a wrong clock is set by an answer to HEAD, which has no code', async (t) => {
  let requests = 0;
  const { store } = await openStore(t, (req, res) => {
    requests++;
    const server = new Date(Date.now() + 3_600_000);
    res.setHeader('date', server.toUTCString());
    const signed = /(\d{8}T\d{2})/.exec(`${req.headers['x-amz-date']}`)?.[1];
    const isNow = signed === server.toISOString().replace(/[-:]/g, '').slice(0, 11);
    if (isNow) res.writeHead(200, { 'content-length': '3' }).end();
    else res.writeHead(403).end();
  });
  t.match(await store.head('o/p/n', never), { size: 3 });
  t.equal(requests, 2);
});
