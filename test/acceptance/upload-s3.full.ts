import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';
import { untilEmpty } from '../services/until-empty.ts';
import { uploadSuite } from './upload-suite.ts';

const folder = await mkdtemp(join(tmpdir(), 'sluice-files-'));
const stub = await startS3Stub();
const sluice = await startSluice({
  env: stubSettings(stub),
});
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

t.test('S3', async (t) => {
  await uploadSuite(t, {
    sluice,
    folder,
    leftovers: async (name) =>
      [...stub.objects(), ...stub.openUploads()].map(({ key }) => key).filter((key) => key.includes(name)),
  });
  t.strictSame(await untilEmpty(() => stub.openUploads()), []);
});

const upload = async (baseUrl: string, content: string | Uint8Array, name: string, type: string) => {
  const body = new FormData();
  body.set('file', new Blob([content], { type }), name);
  const response = await fetch(`${baseUrl}/_f_/media/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sluice.token}` },
    body,
  });
  return (await response.json()) as { name: string; s3Link: string };
};

t.test('the bucket serves a page as our own download does: as no page', async (t) => {
  const large = new Uint8Array(9_000_000);
  for (const [content, name, type, contentType, disposition] of [
    ['<script>', 'page.html', 'text/html', 'application/octet-stream', 'attachment; filename="page.html"'],
    ['<svg/>', 'a.svg', 'image/svg+xml', 'application/octet-stream', 'attachment; filename="a.svg"'],
    [large, 'b.html', 'text/html', 'application/octet-stream', 'attachment; filename="b.html"'],
    ['x', 'two  spaces.png', 'image/png', 'image/png', 'inline; filename="two spaces.png"'],
    ['x', 'n.txt', 'text/plain', 'text/plain; charset=utf-8', 'inline; filename="n.txt"'],
    ['x', 'ä.csv', 'text/csv', 'text/csv', `attachment; filename="_.csv"; filename*=UTF-8''%C3%A4.csv`],
  ] as const) {
    const file = await upload(sluice.baseUrl, content, name, type);
    const object = stub.objects().find(({ key }) => key.endsWith(file.name));
    t.match(object, { contentType, contentDisposition: disposition }, name);
    t.equal(object?.metadata['sluice-content-type'], contentType === type ? undefined : type);
    const served = await fetch(file.s3Link);
    t.equal(served.headers.get('content-type'), contentType);
    await served.arrayBuffer();
  }
  const long = await upload(sluice.baseUrl, 'x', `${'ä'.repeat(990)}.png`, 'image/png');
  const object = stub.objects().find(({ key }) => key.endsWith(long.name));
  t.equal(object?.contentDisposition, `inline; filename="${long.name}"`, 'S3 takes no long headers');
});

t.test('an s3Link is an address of the bucket only when that is public', async (t) => {
  await sluice.stop();
  const open = await sluice.restart({ ...stubSettings(stub), S3_PUBLIC_BUCKET: 'true' });
  t.teardown(() => open.stop());
  const { s3Link } = await upload(open.baseUrl, 'x', 'a.txt', 'text/plain');
  t.ok(s3Link.startsWith(`${stub.endpoint}/${stub.bucket}/`), s3Link);
});

t.test(
  'downloads are redirected to the bucket as clients reach it, which the dashboard may show',
  async (t) => {
    await sluice.stop();
    // the same machine by another name
    const publicEndpoint = stub.endpoint.replace('127.0.0.1', 'localhost');
    const redirecting = await sluice.restart({
      ...stubSettings(stub),
      DOWNLOADS: 'redirect',
      S3_PUBLIC_ENDPOINT: publicEndpoint,
    });
    t.teardown(() => redirecting.stop());
    const { s3Link } = await upload(redirecting.baseUrl, 'x'.repeat(100_000), 'a.bin', 'video/mp4');
    t.ok(s3Link.startsWith(redirecting.baseUrl), s3Link);
    const answer = await fetch(s3Link, { redirect: 'manual' });
    t.equal(answer.status, 307);
    t.ok(answer.headers.get('location')?.startsWith(`${publicEndpoint}/${stub.bucket}/`));
    const followed = await fetch(s3Link);
    t.equal((await followed.text()).length, 100_000);
    t.equal(followed.headers.get('content-disposition'), 'inline; filename="a.bin"');
    const head = await fetch(s3Link, { method: 'HEAD' });
    t.equal(head.headers.get('etag'), followed.headers.get('etag'));
    const page = await fetch(`${redirecting.baseUrl}/_console_/`);
    t.match(page.headers.get('content-security-policy'), `img-src 'self' data: blob:`);
    t.ok(page.headers.get('content-security-policy')?.includes(publicEndpoint));
  },
);
