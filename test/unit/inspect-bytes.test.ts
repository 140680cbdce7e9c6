/** What the first bytes of a file tell: its type, whether it could act, and its size and duration. */
import fc from 'fast-check';
import sharp from 'sharp';
import t from 'tap';
import { activeType } from '#gateway/inspect/active-type.ts';
import { inspectBytes } from '#gateway/inspect/inspect-bytes.ts';
import { flacHead, type SampleFilm, sampleFilm, sampleFilms } from '../services/sample-films.ts';
import { sampleWav } from '../services/sample-media.ts';
import { sized } from '../services/test-size.ts';

const red = { create: { width: 60, height: 40, channels: 3, background: 'red' } } as const;
const look = async (bytes: Buffer, isWhole = true) => inspectBytes({ chunks: [bytes], isWhole }, 'any');
const sizesOf = async (bytes: Buffer, isWhole = true) => (await look(bytes, isWhole)).sizes;

/** A PNG's header, as far as the first pixels. */
function pngHead(width: number, height: number): Buffer {
  const head = Buffer.alloc(64);
  head.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  head.write('\0\0\0\x20IDAT', 33, 'latin1');
  return head;
}

/** A box of the ISO base media file format. @param size what it says */
function box(type: string, contents: Buffer, size = contents.length + 8): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(size);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, contents]);
}

t.test('HTML, XML and programs are known by their bytes', async (t) => {
  const utf16 = (text: string, mark: string) =>
    Buffer.concat([Buffer.from(mark, 'hex'), Buffer.from(text, 'utf16le')]);
  const bigEndian = (text: string) => Buffer.from(utf16(text, 'fffe')).swap16();
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const cases: [bytes: string | Buffer, type: string | null][] = [
    ['<!DOCTYPE html><title>a</title>', 'text/html'],
    ['\n\t <HTML>', 'text/html'],
    ['\ufeff<script>alert(1)</script>', 'text/html'],
    ['<a href=x>', 'text/html'],
    ['<b>', 'text/html'],
    ['<p/>', 'text/html'],
    ['<!-- a --><p>', 'text/html'],
    ['<iframe src=x>', 'text/html'],
    ['<img src=x onerror=alert(1)>', 'text/html'],
    [`${' '.repeat(5000)}<script>`, 'text/html'],
    [utf16('<script>', 'fffe'), 'text/html'],
    [bigEndian('<script>'), 'text/html'],
    [utf16('<html>', ''), 'text/html'],
    [svg, 'image/svg+xml'],
    [
      `<?xml version="1.0"?>\n<!-- a --><!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY a "b">]>\n${svg}`,
      'image/svg+xml',
    ],
    ['<?xml version="1.0"?><s:svg xmlns:s="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
    [`<!-- made by hand -->${svg}`, 'image/svg+xml'],
    ['<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', 'application/xhtml+xml'],
    ['<?xml version="1.0"?><feed/>', 'application/xml'],
    ['<feed xmlns="http://www.w3.org/2005/Atom">', 'application/xml'],
    [`<?xml version="1.0"?>${'<!-- -->'.repeat(20_000)}<svg/>`, 'application/xml'],
    ['<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"/>', 'application/dash+xml'],
    ['#!/bin/sh\necho', 'application/x-sh'],
    ['\ufeff#!/bin/sh', 'application/x-sh'],
    [Buffer.from('7f454c4602010100', 'hex'), 'application/x-elf'],
    [Buffer.from('4d5a900003000000', 'hex'), 'application/vnd.microsoft.portable-executable'],
    [Buffer.from('cffaedfe0700', 'hex'), 'application/x-mach-binary'],
    [Buffer.from('cafebabe00000002', 'hex'), 'application/x-mach-binary'],
    [Buffer.from('cafebabe00000041', 'hex'), 'application/java-vm'],
    [Buffer.from('0061736d01000000', 'hex'), 'application/wasm'],
    [Buffer.from('6465780a30333500', 'hex'), 'application/vnd.android.dex'],
    ['!<arch>\ndebian-binary', 'application/x-archive'],
    ['', null],
    ['MZ is a text as well', null],
    ['plain <b>text</b>', null],
    ['<3', null],
    ['<person@example.com> wrote', null],
    ['<abbreviation>', null],
    ['# heading', null],
    ['WEBVTT\n\n<v Ada>', null],
    ['#EXTM3U\n', null],
    [pngHead(1, 1), null],
  ];
  for (const [bytes, type] of cases)
    t.equal(activeType(Buffer.from(bytes as string)), type, JSON.stringify(bytes.toString().slice(0, 40)));
});

t.test('a polyglot is what its first bytes say', async (t) => {
  const gif = Buffer.concat([await sharp(red).gif().toBuffer(), Buffer.from('<script>alert(1)</script>')]);
  t.match(await look(gif), { active: null, type: 'image/gif' });
  t.match(await look(Buffer.from('GIF89a/*<svg/onload=alert(1)>*/=alert(1)//')), { active: null });
  // a PDF may begin later, and then is no PDF here
  t.match(await look(Buffer.from('<html>%PDF-1.7')), { active: 'text/html' });
});

t.test('texts are UTF-8 or UTF-16', async (t) => {
  const isText = async (bytes: string | Buffer) => (await look(Buffer.from(bytes as string), false)).isText;
  t.equal(await isText('a,b\n1,2\n'), true);
  t.equal(
    await isText(Buffer.from('größer €').subarray(0, -1)),
    true,
    'it goes on in the middle of a character',
  );
  t.equal(await isText(''), true);
  t.equal(await isText(Buffer.from([0xff, 0xfe, 0x41, 0])), true);
  t.equal(await isText('BM, a text that is no bitmap'), true);
  t.equal(await isText('a\0b'), false);
  t.equal(await isText(Buffer.from([0xe4, 0xf6, 0x20, 0x41, 0x41, 0x41])), false);
});

t.test('pictures have the size in which browsers show them', async (t) => {
  const turned = { width: 40, height: 60 };
  const upright = { width: 60, height: 40 };
  for (const format of ['jpeg', 'png', 'webp', 'avif', 'gif'] as const) {
    t.strictSame(await sizesOf(await sharp(red)[format]().toBuffer()), upright, format);
    // Chromium applies the orientation of all but these
    const isTurned = format !== 'webp' && format !== 'gif';
    const bytes = await sharp(red).withMetadata({ orientation: 6 })[format]().toBuffer();
    t.strictSame(await sizesOf(bytes), isTurned ? turned : upright, `${format}, turned`);
  }
  t.strictSame(await sizesOf(await sharp(red).webp({ lossless: true }).toBuffer()), upright);
  t.strictSame(await sizesOf(await sharp(red).jpeg({ progressive: true }).toBuffer()), upright);
  t.strictSame(await sizesOf(sampleFilm('jxl')), { width: 48, height: 32 });
  const avif = await sharp(red).withMetadata({ orientation: 8 }).avif().toBuffer();
  const heic = Buffer.from(avif.toString('latin1').replace('ftypavif', 'ftypheic'), 'latin1');
  t.match(await look(heic), { type: 'image/heic', sizes: turned });
  const bmp = Buffer.alloc(60);
  bmp.write('BM');
  bmp.writeUInt32LE(40, 14);
  bmp.writeInt32LE(7, 18);
  bmp.writeInt32LE(-5, 22);
  t.strictSame(await sizesOf(bmp), { width: 7, height: 5 }, 'rows from the top');
});

t.test('films and sounds have sides and a duration', async (t) => {
  const film = { width: 48, height: 32, duration: 1 };
  const expected: Record<SampleFilm, [type: string, sizes: object]> = {
    m4a: ['audio/mp4', { duration: 1 }],
    mp3: ['audio/mpeg', { duration: 1 }],
    opus: ['audio/ogg', { duration: 1 }],
    ogg: ['audio/ogg', { duration: 1 }],
    mp4: ['video/mp4', film],
    mov: ['video/quicktime', film],
    mkv: ['video/matroska', film],
    webm: ['video/webm', film],
    '3gp': ['video/3gpp', { width: 144, height: 96, duration: 1 }],
    'turned.mp4': ['video/mp4', { width: 32, height: 48, duration: 1 }],
    'wide.mp4': ['video/mp4', { width: 96, height: 32, duration: 1 }],
    jxl: ['image/jxl', { width: 48, height: 32 }],
  };
  for (const name of sampleFilms) {
    const [type, sizes] = expected[name];
    t.match(await look(sampleFilm(name)), { active: null, type }, name);
    t.strictSame(await sizesOf(sampleFilm(name)), sizes, name);
  }
  t.strictSame(await sizesOf(sampleWav()), { duration: 1 });
  t.strictSame(await sizesOf(flacHead), { duration: 1 });
});

t.test('what is cut off tells nothing, or what it told before', async (t) => {
  const jpeg = await sharp(red).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const whole = [jpeg, sampleWav(), ...sampleFilms.map(sampleFilm)];
  for (const bytes of whole) {
    const all = await sizesOf(bytes);
    for (let length = 0; length < bytes.length; length += 1 + Math.floor(length / 16)) {
      const some = await sizesOf(bytes.subarray(0, length), false);
      for (const [name, value] of Object.entries(some)) t.equal(value, all[name as keyof typeof all]);
    }
  }
  t.strictSame(await sizesOf(sampleWav().subarray(0, 4000)), {}, 'fewer samples than it says');
  t.strictSame(await sizesOf(sampleFilm('opus').subarray(0, -20)), {});
});

t.test('the first megabyte is joined where the first chunk does not tell', async (t) => {
  const film = sampleFilm('mp4');
  const padded = Buffer.concat([film.subarray(0, 32), box('free', Buffer.alloc(200_000)), film.subarray(32)]);
  const chunks = Array.from({ length: 4 }, (_, at) => padded.subarray(at * 65_536, (at + 1) * 65_536));
  t.strictSame((await inspectBytes({ chunks, isWhole: true }, 'none')).sizes, {
    width: 48,
    height: 32,
    duration: 1,
  });
  const far = Buffer.concat([film.subarray(0, 32), box('free', Buffer.alloc(2 ** 20)), film.subarray(32)]);
  t.strictSame(await sizesOf(far), {}, 'behind the first megabyte');
});

t.test('sizes that lie', async (t) => {
  t.strictSame(await sizesOf(pngHead(1, 1_000_000)), { width: 1, height: 1_000_000 });
  t.strictSame(await sizesOf(pngHead(0, 5)), {});
  t.strictSame(await sizesOf(pngHead(0xffffffff, 5)), {});
  const film = sampleFilm('mp4');
  const at = film.indexOf('mvhd') + 4;
  const changed = (offset: number, value: number): Buffer => {
    const copy = Buffer.from(film);
    copy.writeUInt32BE(value, at + offset);
    return copy;
  };
  t.strictSame(await sizesOf(changed(12, 0)), { width: 48, height: 32 }, 'a scale of 0');
  t.strictSame(await sizesOf(changed(16, 0xffffffff)), { width: 48, height: 32 }, 'an unknown duration');
  const ftyp = film.subarray(0, 32);
  const huge = Buffer.from('\0\0\0\x01free\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1');
  for (const rest of [
    box('moov', Buffer.alloc(1000), 0xffffffff),
    Buffer.concat([huge, film.subarray(32)]),
    box('free', Buffer.alloc(0), 0),
    Buffer.from('00000008667265650'.repeat(50_000), 'hex'),
    Buffer.alloc(100_000),
    Buffer.alloc(100_000, 0xff),
  ])
    t.strictSame(await sizesOf(Buffer.concat([ftyp, rest])), {});
  const ebml = sampleFilm('webm').subarray(0, 48);
  for (const rest of ['ec80', 'ec01ffffffffffffff', 'ec01fffffffffffffe', 'ae01ffffffffffffff', '00', 'ff'])
    t.strictSame(await sizesOf(Buffer.concat([ebml, Buffer.from(rest.repeat(50_000), 'hex')])), {});
});

t.test('hostile bytes tell nothing wrong, and never throw', async (_t) => {
  const seeds = [
    ...sampleFilms.map(sampleFilm),
    await sharp(red).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    await sharp(red).withMetadata({ orientation: 6 }).avif().toBuffer(),
    await sharp(red).withMetadata({ orientation: 6 }).png().toBuffer(),
    await sharp(red).webp().toBuffer(),
    sampleWav().subarray(0, 200),
    flacHead,
  ];
  const change = fc.tuple(fc.nat({ max: 2000 }), fc.integer({ min: 0, max: 255 }));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...seeds),
      fc.array(change, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (seed, changes, isWhole) => {
        const bytes = Buffer.from(seed);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        const { width = 1, height = 1, duration = 1 } = await sizesOf(bytes, isWhole);
        const isSide = (side: number) => Number.isInteger(side) && side > 0 && side < 2 ** 31;
        if (!isSide(width) || !isSide(height) || !(duration > 0 && duration < 4e8))
          throw new Error(`${width} ${height} ${duration}`);
      },
    ),
    { numRuns: sized(3000) },
  );
});
