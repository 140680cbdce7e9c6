import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import type { ImagePreset } from '#kernel/config/image-presets.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { newFile } from '../services/new-file.ts';
import { picturesOn } from '../services/pictures.ts';
import { picturesOf, presets } from '../services/pictures-of.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { filesInMemory } from '../services/test-gateway.ts';
import { testJanitor } from '../services/test-janitor.ts';

function plain(width: number, height: number, background = '#3060c0') {
  return sharp({ create: { width, height, channels: 3, background } });
}

const { signal } = new AbortController();

/** A store with a picture of 300 x 200 pixels. */
async function storedIn(store: ObjectStore) {
  const { rows, cloudFiles } = filesInMemory();
  const bytes = await plain(300, 200).png().toBuffer();
  const file = newFile({ name: `${randomUUID()}_a.png`, contentType: 'image/png', size: bytes.byteLength });
  const writer = await store.create(file.objectKey, { contentType: 'image/png', metadata: {} }, signal);
  await writer.complete({ chunks: [bytes], size: bytes.byteLength, crc32: crc32(bytes) });
  rows.set(file.name, file);
  return { file, cloudFiles };
}

t.test('a picture by preset: its format by Accept, made once, with an ETag, ranges and HEAD', async (t) => {
  const { put, get, variants, maker } = await picturesOf(t);
  const name = await put('holiday.photo.jpg', await plain(400, 300).jpeg().toBuffer());
  const browser = 'image/avif,image/webp,image/apng,image/*,*/*;q=0.8';
  for (const [accept, type, file] of [
    [browser, 'image/avif', 'holiday.photo.avif'],
    ['image/webp,*/*', 'image/webp', 'holiday.photo.webp'],
    ['image/avif;q=0, image/webp', 'image/webp', 'holiday.photo.webp'],
    ['*/*', 'image/jpeg', 'holiday.photo.jpg'],
  ] as const) {
    const answer = await get(name, 'thumb', { accept });
    t.equal(answer.status, 200, accept);
    t.equal(answer.headers.get('content-type'), type);
    t.equal(answer.headers.get('vary'), 'Accept');
    t.equal(answer.headers.get('cache-control'), 'public, max-age=86400');
    t.match(answer.headers.get('content-disposition'), `inline; filename="${file}"`);
    t.match(answer.headers.get('content-security-policy'), 'sandbox');
    const bytes = Buffer.from(await answer.arrayBuffer());
    const { width, height } = await sharp(bytes).metadata();
    t.strictSame([width, height], [64, 64]);
    const etag = answer.headers.get('etag') ?? '';
    t.equal((await get(name, 'thumb', { accept, 'if-none-match': etag })).status, 304);
    const part = await get(name, 'thumb', { accept, range: 'bytes=2-9' });
    t.equal(part.status, 206);
    t.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(2, 10)));
    const head = await get(name, 'thumb', { accept }, 'HEAD');
    t.equal(head.headers.get('content-length'), `${bytes.byteLength}`);
  }
  t.equal(maker.counts.made, 3);
  t.equal((await variants()).length, 3);
  const page = await get(name, 'page', { accept: 'image/webp' });
  const { width, height } = await sharp(Buffer.from(await page.arrayBuffer())).metadata();
  t.strictSame([width, height], [200, 150], 'it fits into the box');
});

t.test('requests for one picture share its making', async (t) => {
  const { put, picture, maker } = await picturesOf(t);
  const name = await put('a.png', await plain(300, 300).png().toBuffer());
  const all = await Promise.all(Array.from({ length: 20 }, () => picture(name, 'thumb')));
  t.equal(new Set(all.map((bytes) => bytes.toString('base64'))).size, 1);
  t.equal(maker.counts.made, 1);
});

t.test('orientations of EXIF are applied, and GPS and all else of the camera is gone', async (t) => {
  const { put, picture } = await picturesOf(t);
  // red left half, blue right half
  const half = await plain(60, 60, '#e01010').png().toBuffer();
  const upright = await plain(120, 60, '#1010e0')
    .composite([{ input: half, left: 0, top: 0 }])
    .png()
    .toBuffer();
  /** What turns the pixels so that orientation N shows them upright again: sharp mirrors before it rotates. */
  const undo: readonly ((image: Sharp) => Sharp)[] = [
    (image) => image,
    (image) => image.flop(),
    (image) => image.rotate(180),
    (image) => image.flip(),
    (image) => image.rotate(90).flip(),
    (image) => image.rotate(270),
    (image) => image.rotate(90).flop(),
    (image) => image.rotate(90),
  ];
  for (const [at, turn] of undo.entries()) {
    const orientation = at + 1;
    const turned = await sharp(await turn(sharp(upright)).png().toBuffer())
      .withExif({
        IFD0: { Copyright: 'somebody' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
      })
      .withMetadata({ orientation })
      .jpeg({ quality: 95 })
      .toBuffer();
    t.ok((await sharp(turned).metadata()).exif);
    const made = await picture(await put(`${orientation}.jpg`, turned), 'page', 'image/webp');
    const { width, height, exif, icc, xmp, orientation: left } = await sharp(made).metadata();
    t.strictSame(
      { width, height, exif, icc, xmp, left },
      {
        width: 120,
        height: 60,
        exif: undefined,
        icc: undefined,
        xmp: undefined,
        left: undefined,
      },
    );
    const { dominant } = await sharp(
      await sharp(made).extract({ left: 0, top: 0, width: 50, height: 60 }).png().toBuffer(),
    ).stats();
    t.ok(dominant.r > 180 && dominant.b < 80, `orientation ${orientation}`);
  }
});

t.test('colours are those of sRGB: from Display P3 and CMYK; alpha stays', async (t) => {
  const { put, picture } = await picturesOf(t);
  const pixel = async (bytes: Buffer): Promise<readonly number[]> => [
    ...(await sharp(bytes).removeAlpha().resize(1, 1).raw().toBuffer()),
  ];
  // this green of sRGB has other numbers in P3
  const p3 = await plain(100, 100, '#20c040').withIccProfile('p3').png().toBuffer();
  t.ok((await sharp(p3).metadata()).icc);
  const raw = await sharp(p3).raw().toBuffer();
  t.notSame([...raw.subarray(0, 3)], [0x20, 0xc0, 0x40], 'the numbers of the file are those of P3');
  const near = (one: readonly number[], other: readonly number[]): boolean =>
    one.every((value, at) => Math.abs(value - (other[at] ?? 0)) < 8);
  const fromP3 = await pixel(await picture(await put('p3.png', p3), 'thumb'));
  t.ok(near(fromP3, [0x20, 0xc0, 0x40]), `from P3: ${fromP3}`);
  const cmyk = await plain(100, 100, '#20c040').toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer();
  t.equal((await sharp(cmyk).metadata()).space, 'cmyk');
  const fromCmyk = await pixel(await picture(await put('cmyk.jpg', cmyk), 'thumb', 'image/webp'));
  t.ok((fromCmyk[1] ?? 0) > 120 && (fromCmyk[0] ?? 255) < 130, `from CMYK: ${fromCmyk}`);
  const clear = await sharp({ create: { width: 90, height: 90, channels: 4, background: '#ff000080' } })
    .png()
    .toBuffer();
  const name = await put('clear.png', clear);
  for (const [accept, format] of [
    ['image/avif', 'heif'],
    ['image/webp', 'webp'],
    ['*/*', 'png'],
  ] as const) {
    const made = await picture(name, 'thumb', accept);
    t.match(await sharp(made).metadata(), { format, hasAlpha: true });
  }
  const opaque = await plain(90, 90).ensureAlpha().png().toBuffer();
  t.match(await sharp(await picture(await put('o.png', opaque), 'thumb', '*/*')).metadata(), {
    format: 'jpeg',
  });
});

t.test('presets, files and rights that are not there', async (t) => {
  const { put, get, baseUrl } = await picturesOf(t);
  const name = await put('a.png', await plain(10, 10).png().toBuffer());
  t.equal((await get(name, 'huge')).status, 404);
  t.equal((await get(name, '')).status, 404);
  t.equal((await get(`${name}x`, 'thumb')).status, 404);
  const twice = await fetch(`${baseUrl}/_f_/demo/${name}?preset=thumb&preset=page`);
  t.match(await twice.json(), { code: 'invalid_condition' });
  const own = await picturesOf(t, { fileLinks: 'private' });
  const hidden = await own.put('a.png', await plain(10, 10).png().toBuffer());
  t.equal(
    (await own.get(hidden, 'thumb', { 'test-owner': '11111111-2222-4333-8444-555555555555' })).status,
    404,
  );
  const seen = await own.get(hidden, 'thumb');
  t.equal(seen.headers.get('cache-control'), 'private, no-cache');
  t.equal((await sharp(Buffer.from(await seen.arrayBuffer())).metadata()).width, 10, 'it is not enlarged');
});

t.test('pictures go with their file', async (t) => {
  const { put, picture, variants, baseUrl } = await picturesOf(t);
  const [one = '', two = '', three = ''] = await Promise.all(
    ['a.png', 'b.png', 'c.png'].map(async (name) => put(name, await plain(80, 80).png().toBuffer())),
  );
  for (const name of [one, two, three])
    for (const preset of ['thumb', 'page']) await picture(name, preset, 'image/webp');
  t.equal((await variants()).length, 6);
  t.equal((await fetch(`${baseUrl}/_f_/demo/${one}`, { method: 'DELETE' })).status, 204);
  t.equal((await variants()).length, 4);
  const body = JSON.stringify({ names: [two, three] });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${baseUrl}/_f_/demo/_delete_`, { method: 'POST', body, headers });
  t.strictSame(await variants(), []);
});

t.test('the janitor removes the pictures of files that are gone, and no others', async (t) => {
  const { put, picture, variants, rows, store, cloudFiles } = await picturesOf(t);
  const bytes = await plain(80, 80).png().toBuffer();
  const [stays, goes] = [await put('a.png', bytes), await put('b.png', bytes)];
  for (const name of [stays, goes]) await picture(name, 'thumb', 'image/webp');
  const { objectKey = '' } = rows.get(goes) ?? {};
  // as if a gateway had died in the middle of a deletion
  rows.delete(goes);
  await store.delete(objectKey, AbortSignal.timeout(10_000));
  const janitor = testJanitor({ store, cloudFiles });
  t.match(await janitor.run({ dryRun: true }), { picturesRemoved: 1 });
  t.equal((await variants()).length, 2);
  const report = await janitor.run({ dryRun: false });
  t.match(report, { picturesRemoved: 1, objectsLeft: 0, rowsMade: 0, failures: 0 });
  t.match(await variants(), [new RegExp(`${stays}/`)]);
});

t.test('a picture of a file that is deleted meanwhile is not left behind', async (t) => {
  const { put, get, variants, cloudFiles, store } = await picturesOf(t);
  const name = await put('a.png', await plain(80, 80).png().toBuffer());
  const { create } = store;
  store.create = async (key, ...args) => {
    // a deletion that ends just before the picture is stored
    if (key.includes('/_variants/')) await cloudFiles.remove(name, AbortSignal.timeout(10_000));
    return create.call(store, key, ...args);
  };
  t.equal((await get(name, 'thumb')).status, 404);
  t.strictSame(await variants(), []);
});

t.test('two gateways make a picture once', async (t) => {
  const root = await temporaryFolder(t);
  const store = await createFileSystemStore({ root });
  const { file, cloudFiles } = await storedIn(store);
  const locks = ownLocks();
  const gateways = [1, 2].map(() => picturesOn({ store, cloudFiles, presets, locks }));
  t.teardown(() => Promise.all(gateways.map(({ maker }) => maker.close())));
  const wanted = { preset: 'thumb', format: 'webp' as const };
  const [one, other] = await Promise.all(gateways.map(({ pictures }) => pictures.of(file, wanted, signal)));
  t.equal(one?.size, other?.size);
  t.equal(
    gateways.reduce((sum, { maker }) => sum + maker.counts.made, 0),
    1,
  );
});

t.test('a project has presets of its own, which replace those of the server', async (t) => {
  const store = await createFileSystemStore({ root: await temporaryFolder(t) });
  const { file, cloudFiles } = await storedIn(store);
  let imagePresets: readonly ImagePreset[] = [{ name: 'thumb', width: 30, height: 10, fit: 'cover' }];
  const projects = {
    find: async (ownerId: string, slug: string) => ({ id: 'p', ownerId, slug, imagePresets }),
  };
  const { pictures, maker } = picturesOn({ store, cloudFiles, presets, projects });
  t.teardown(() => maker.close());
  const sizeOf = async (preset: string) => {
    const { objectKey } = await pictures.of(file, { preset, format: 'webp' }, signal);
    const found = await store.readWhole(objectKey, 1_000_000, signal);
    const { width, height } = await sharp(found ?? Buffer.alloc(0)).metadata();
    return [width, height];
  };
  t.strictSame(await sizeOf('thumb'), [30, 10]);
  t.strictSame(await sizeOf('page'), [200, 133], 'one of the server');
  imagePresets = [{ name: 'thumb', width: 12, height: 12, fit: 'cover' }];
  t.strictSame(await sizeOf('thumb'), [12, 12], 'a changed one makes a new picture');
  imagePresets = [];
  t.strictSame(await sizeOf('thumb'), [64, 64]);
  t.equal(maker.counts.made, 4);
});

t.test('a picture of an object that is no file, or is gone', async (t) => {
  const { pathOf, ...bucket } = await createFileSystemStore({ root: await temporaryFolder(t) });
  const { file, cloudFiles } = await storedIn(bucket);
  const wanted = { preset: 'thumb', format: 'webp' as const };
  for (const store of [bucket, { ...bucket, pathOf: pathOf as NonNullable<typeof pathOf> }]) {
    const { pictures, maker } = picturesOn({ store, cloudFiles, presets });
    t.teardown(() => maker.close());
    const { objectKey } = await pictures.of(file, wanted, signal);
    t.ok(await store.head(objectKey, signal));
    await store.delete(objectKey, signal);
    const lost = {
      ...file,
      id: randomUUID(),
      name: `${randomUUID()}_b.png`,
      objectKey: `${file.objectKey}x`,
    };
    // not a 422, which would be remembered
    await t.rejects(pictures.of(lost, wanted, signal), { code: 'ENOENT' });
  }
});
