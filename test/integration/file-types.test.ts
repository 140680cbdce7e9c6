/** What files are by their bytes, however they come: types, sizes of pictures, and links that take one type only. */
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { OwnLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { DirectClient } from '../services/direct-client.ts';
import { serveGatewayOn, testOwner } from '../services/gateway-on-s3.ts';
import { flacHead, sampleFilm } from '../services/sample-films.ts';
import { openStubStore } from '../services/stub-store.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const html = Buffer.from('<!doctype html><script>alert(1)</script>');
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
const script = Buffer.from('#!/bin/sh\nrm -rf /\n');
const png = await sharp({ create: { width: 60, height: 40, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const long = Buffer.concat([png, Buffer.alloc(300_000)]);

interface Sent {
  readonly bytes: Buffer;
  readonly type: string;
  /** `?link=...` */
  readonly query?: string;
}

interface Got {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  readonly name?: string;
  readonly contentType?: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly duration?: number | undefined;
}

/** A gateway, and each way to upload to it. */
async function serve(t: Test, kind: 'file system' | 'S3') {
  const stubbed = kind === 'S3' ? await openStubStore(t) : null;
  const store = stubbed?.store ?? (await createFileSystemStore({ root: await temporaryFolder(t) }));
  const keys = createConfiguredKeys('a secret of a test, long enough for it');
  const uploadLinks = new UploadLinks({ keys, uses: new OwnLinkUses() });
  const gateway = await serveGatewayOn(t, store, { uploadLinks, needToken: true });
  const { baseUrl } = gateway;
  const token = { 'test-token': 'good', 'test-owner': testOwner };
  const headersFor = ({ query }: Sent): Record<string, string> => (query === undefined ? token : {});
  const answer = async (response: Response): Promise<Got> => {
    const text = await response.text();
    return { ...(text === '' ? {} : (JSON.parse(text) as Got)), status: response.status };
  };
  const tus = { 'tus-resumable': '1.0.0' };
  const metadata = (type: string) => `filename ${btoa('a')},filetype ${btoa(type)}`;
  /** @param pieces lengths of the first ones */
  const byTus = async (sent: Sent, pieces: readonly number[]): Promise<Got> => {
    const { bytes, type, query = '' } = sent;
    const headers = { ...tus, ...headersFor(sent) };
    const begun = await fetch(`${baseUrl}/_f_/demo/resumable${query}`, {
      method: 'POST',
      headers: { ...headers, 'upload-length': `${bytes.length}`, 'upload-metadata': metadata(type) },
    });
    if (begun.status !== 201) return answer(begun);
    const location = new URL(begun.headers.get('location') ?? '', baseUrl);
    let at = 0;
    for (const size of [...pieces, bytes.length]) {
      if (at === bytes.length && at > 0) break;
      const patched = await fetch(location, {
        method: 'PATCH',
        headers: { ...headers, 'upload-offset': `${at}`, 'content-type': 'application/offset+octet-stream' },
        body: bytes.subarray(at, at + size),
      });
      if (patched.status >= 300) return answer(patched);
      at = Math.min(bytes.length, at + size);
    }
    const name = location.pathname.split('/').at(-1) ?? '';
    return { ...(gateway.rows.get(name) as CloudFile), status: 200 };
  };
  const ways: Record<string, (sent: Sent) => Promise<Got>> = {
    async form(sent) {
      const body = new FormData();
      body.set('file', new Blob([sent.bytes], { type: sent.type }), 'a');
      const url = `${baseUrl}/_f_/demo/upload${sent.query ?? ''}`;
      return answer(await fetch(url, { method: 'POST', body, headers: headersFor(sent) }));
    },
    async put(sent) {
      const headers = { ...headersFor(sent), 'content-type': sent.type };
      const url = `${baseUrl}/_f_/demo/a${sent.query ?? ''}`;
      return answer(await fetch(url, { method: 'PUT', body: sent.bytes, headers }));
    },
    tus: (sent) => byTus(sent, []),
    'tus in pieces': (sent) => byTus(sent, [3, 70_000, 100_000]),
    async draft(sent) {
      const headers = { ...headersFor(sent), 'upload-draft-interop-version': '8', 'upload-complete': '?1' };
      const url = `${baseUrl}/_f_/demo/resumable${sent.query ?? ''}`;
      const response = await fetch(url, {
        method: 'POST',
        body: sent.bytes,
        headers: { ...headers, 'content-type': sent.type },
      });
      const got = await answer(response);
      return got.status === 201 ? { ...got, status: 200 } : got;
    },
    async direct(sent) {
      const client = new DirectClient(baseUrl, headersFor(sent));
      const wanted = { name: 'a', size: sent.bytes.length, contentType: sent.type };
      const { status, body } = await client.ask('POST', `/_f_/demo/direct${sent.query ?? ''}`, wanted);
      if (status !== 201) return { ...body, status };
      await client.send(body, sent.bytes);
      const done = await client.complete(body);
      return { ...done.body, status: done.status };
    },
  };
  const linkFor = async (type: string) => {
    const terms = { ownerId: testOwner, projectSlug: 'demo', expires: 4e9, maxBytes: 1e9, times: 0 };
    return `?link=${await uploadLinks.sign({ ...terms, type, verifyType: true })}`;
  };
  const served = async ({ name }: Got) => {
    const { headers } = await fetch(`${baseUrl}/_f_/demo/${name}`, { method: 'HEAD', headers: token });
    return [headers.get('content-type'), headers.get('content-disposition')?.split(';')[0]];
  };
  /** As the bucket serves it; undefined: there is none. */
  const inBucket = ({ name = '' }: Got) => {
    const object = stubbed?.stub.objects().find(({ key }) => key.endsWith(name));
    return object && [object.contentType, object.contentDisposition?.split(';')[0]];
  };
  const left = async () => {
    const found: string[] = [];
    for await (const { key } of store.list('', AbortSignal.timeout(10_000))) found.push(key);
    return found;
  };
  return { ...gateway, ways, linkFor, served, inBucket, left };
}

const attachment = ['application/octet-stream', 'attachment'];

for (const kind of ['file system', 'S3'] as const) {
  t.test(`${kind}: bytes that could act are never shown`, async (t) => {
    const { ways, served, inBucket } = await serve(t, kind);
    for (const [way, send] of Object.entries(ways))
      for (const [bytes, type, found] of [
        [html, 'image/png', 'text/html'],
        [svg, 'image/jpg', 'image/svg+xml'],
        [script, 'text/plain', 'application/x-sh'],
        [Buffer.concat([html, long]), 'application/pdf', 'text/html'],
        [html, 'application/octet-stream', 'text/html'],
        // served as an attachment anyway
        [html, 'application/x-own', 'application/x-own'],
      ] as const) {
        const got = await send({ bytes, type });
        t.match(got, { status: 200, contentType: found }, `${way}: ${type}`);
        t.strictSame(await served(got), attachment);
        // the address of a direct upload is signed before its bytes are known; its type runs nothing
        if (kind === 'S3' && way !== 'direct') t.strictSame(inBucket(got), attachment);
      }
  });

  t.test(`${kind}: media that have no type get theirs, and their size`, async (t) => {
    const { ways, served, inBucket } = await serve(t, kind);
    const film = { width: 48, height: 32, duration: 1 };
    for (const [way, send] of Object.entries(ways))
      for (const [bytes, type, found, as, sizes] of [
        [png, 'application/octet-stream', 'image/png', 'image/png', { width: 60, height: 40 }],
        [long, 'application/octet-stream', 'image/png', 'image/png', { width: 60, height: 40 }],
        [png, 'image/jpg', 'image/jpg', 'image/jpeg', { width: 60, height: 40 }],
        [sampleFilm('mkv'), 'application/octet-stream', 'video/matroska', 'video/matroska', film],
        [sampleFilm('mp4'), 'video/x-m4v', 'video/x-m4v', 'video/mp4', film],
        [sampleFilm('m4a'), 'audio/x-m4a', 'audio/x-m4a', 'audio/mp4', { duration: 1 }],
        [flacHead, 'audio/x-flac', 'audio/x-flac', 'audio/flac', { duration: 1 }],
      ] as const) {
        const { contentType, width, height, duration, ...got } = await send({ bytes, type });
        t.equal(contentType, found, `${way}: ${type}`);
        const known = { ...(width && { width, height }), ...(duration && { duration }) };
        t.strictSame(known, sizes, `${way}: ${type}`);
        t.strictSame(await served(got), [as, 'inline']);
        const isSigned = way === 'direct' && type === 'application/octet-stream';
        if (kind === 'S3') t.strictSame(inBucket(got), isSigned ? attachment : [as, 'inline']);
      }
    const zip = { bytes: png, type: 'application/zip' };
    for (const [way, send] of Object.entries(ways)) {
      const got = await send(zip);
      t.match(got, { contentType: 'application/zip' }, way);
      t.notOk('width' in got && got.width !== undefined, 'what is no picture has no size');
    }
    if (ways.form) t.match(await ways.form({ bytes: Buffer.alloc(0), type: 'image/png' }), { status: 200 });
  });

  t.test(`${kind}: a link that verifies its type refuses other bytes, and leaves none`, async (t) => {
    const { ways, linkFor, left, rows } = await serve(t, kind);
    const query = await linkFor('image/');
    const text = await linkFor('text/csv');
    const audio = await linkFor('audio/');
    for (const [way, send] of Object.entries(ways)) {
      t.match(await send({ bytes: png, type: 'image/png', query }), { status: 200 }, way);
      t.match(
        await send({ bytes: Buffer.from('a,b\n'), type: 'text/csv', query: text }),
        { status: 200 },
        way,
      );
      const webm = { bytes: sampleFilm('webm'), type: 'audio/webm', query: audio };
      t.match(await send(webm), { status: 200 }, `${way}: a container of films may hold sound`);
    }
    const files = rows.size;
    const refused = { status: 403, code: 'link_refused' };
    for (const [way, send] of Object.entries(ways)) {
      for (const bytes of [
        html,
        svg,
        script,
        Buffer.from('a text'),
        Buffer.alloc(100_000),
        Buffer.concat([html, long]),
      ])
        t.match(await send({ bytes, type: 'image/png', query }), refused, `${way}: ${bytes.subarray(0, 9)}`);
      t.match(await send({ bytes: html, type: 'text/csv', query: text }), refused, way);
      t.match(await send({ bytes: png, type: 'text/csv', query: text }), refused, way);
      t.match(await send({ bytes: png, type: 'audio/mpeg', query: audio }), {
        ...refused,
        message: /files of type audio\/, and these bytes are image\/png/,
      });
    }
    t.equal(rows.size, files);
    // the janitor removes those that were joined of parts
    const isPlanned = (key: string) => key.split('/').at(-1)?.[14] === '7';
    const objects = (await left()).filter((key) => !/_resumable|_direct/.test(key) && !isPlanned(key));
    const others = [...rows.keys()].filter((name) => !isPlanned(name));
    t.equal(objects.length, others.length, 'nothing of them is left in the store');
  });
}
