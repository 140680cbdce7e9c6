import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { picturesOf } from '../services/pictures-of.ts';

const mebibyte = 1024 * 1024;

/** A PNG of one bit a pixel, all black. */
function blackPng(width: number, height: number): Buffer {
  const line = Math.ceil(width / 8) + 1;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // one bit, grey
  head[8] = 1;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.alloc(line * height))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), bytes]);
  const whole = Buffer.alloc(body.byteLength + 8);
  whole.writeUInt32BE(bytes.byteLength, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.byteLength + 4);
  return whole;
}

t.test('bad pictures are clear errors, and the next one is made all the same', async (t) => {
  const { put, get, picture, maker } = await picturesOf(t);
  const small = await sharp({ create: { width: 100, height: 80, channels: 3, background: '#888' } })
    .jpeg()
    .toBuffer();
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const cases: Readonly<Record<string, readonly [Buffer, string, RegExp]>> = {
    'too many pixels': [blackPng(30_000, 30_000), 'image/png', /900,?000,?000|30000 x 30000/],
    truncated: [small.subarray(0, small.byteLength / 2), 'image/jpeg', /damaged/],
    'a false type': [Buffer.from('<html><script>alert(1)</script>'), 'image/png', /format|text.html|SVG/],
    'SVG as a picture': [svg, 'image/png', /format|text.html|SVG/],
    SVG: [svg, 'image/svg+xml', /SVG/],
    text: [small, 'text/plain', /text\/plain/],
    TIFF: [await sharp(small).tiff().toBuffer(), 'image/tiff', /format/],
    empty: [Buffer.alloc(0), 'image/jpeg', /damaged|format/],
    'a head alone': [blackPng(64, 64).subarray(0, 40), 'image/png', /damaged|format/],
  };
  for (const [what, [bytes, type, message]] of Object.entries(cases)) {
    const answer = await get(await put('a', bytes, type), 'thumb');
    t.equal(answer.status, 422, what);
    const { code, message: said } = (await answer.json()) as { code: string; message: string };
    t.equal(code, 'invalid_image');
    t.match(said, message, what);
    t.notMatch(said, /\/tmp|sluice-pictures/, 'no path is shown');
  }
  t.equal(maker.counts.made, 0);
  const thin = await get(await put('thin.png', blackPng(1, 1_000_000), 'image/png'), 'thumb');
  t.ok([200, 422].includes(thin.status), `a thin picture: ${thin.status}`);
  const frames = await sharp(randomBytes(8 * 8 * 2000 * 3), {
    raw: { width: 8, height: 8 * 2000, channels: 3, pageHeight: 8 },
  })
    .gif({ loop: 0 })
    .toBuffer();
  t.equal((await sharp(frames).metadata()).pages, 2000);
  const first = await picture(await put('a.gif', frames, 'image/gif'), 'thumb', 'image/webp');
  t.match(await sharp(first).metadata(), { width: 8, height: 8, pages: undefined });
  // the same bytes under the name of another format
  t.ok(await picture(await put('a.png', small, 'image/png'), 'thumb'));
});

t.test('a failure is remembered, and no picture is tried again for a minute', async (t) => {
  const { put, get, maker } = await picturesOf(t);
  const name = await put('a.jpg', Buffer.from('no picture'), 'image/jpeg');
  const answers = await Promise.all(
    ['image/avif', 'image/webp', '*/*'].map((accept) => get(name, 'thumb', { accept })),
  );
  t.strictSame(
    answers.map(({ status }) => status),
    [422, 422, 422],
  );
  const { failed } = maker.counts;
  for (let i = 0; i < 5; i++) t.equal((await get(name, 'thumb')).status, 422);
  t.equal(maker.counts.failed, failed);
});

t.test('a picture that takes more memory than a process may is refused, and others go on', async (t) => {
  const { put, get, picture } = await picturesOf(t, { pictureMemory: 160 * mebibyte });
  // an interlaced PNG is decoded as a whole
  const side = 9000;
  const large = await sharp({ create: { width: side, height: side, channels: 3, background: '#246' } })
    .png({ progressive: true, compressionLevel: 1 })
    .toBuffer();
  const small = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#246' } })
    .png()
    .toBuffer();
  const [hungry, modest] = [await put('large.png', large), await put('small.png', small)];
  const [refused, made] = await Promise.all([get(hungry, 'page'), picture(modest, 'thumb')]);
  t.equal(refused.status, 422);
  t.match(await refused.text(), /bytes of memory/);
  t.ok(made.byteLength > 0);
});

t.test('the process of a picture that is killed is begun anew, and ends with the gateway', async (t) => {
  const { put, get, picture, pids, maker } = await picturesOf(t);
  const bytes = await sharp({ create: { width: 60, height: 60, channels: 3, background: '#135' } })
    .png()
    .toBuffer();
  await picture(await put('a.png', bytes), 'thumb');
  const [pid = 0] = await pids();
  t.ok(pid > 0);
  process.kill(pid, 'SIGKILL');
  await picture(await put('b.png', bytes), 'thumb').catch(() => {});
  t.equal((await get(await put('c.png', bytes), 'thumb')).status, 200);
  const left = await pids();
  await maker.close();
  for (const one of left)
    await t.rejects(
      readFile(`/proc/${one}/status`, 'utf8').then((text) =>
        /State:\s+Z/.test(text) ? Promise.reject(new Error('gone')) : text,
      ),
    );
  t.equal((await get(await put('d.png', bytes), 'page')).status, 503);
});
