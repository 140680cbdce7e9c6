/** The small picture that cameras put into a JPEG. */
import fc from 'fast-check';
import t from 'tap';
import { embeddedThumbnail } from '#console/web/files/embedded-thumbnail.ts';
import { jpegWithExif } from '../services/jpeg-with-exif.ts';

const picture = Uint8Array.from({ length: 5000 }, (_, index) => index % 251);

t.test('it is found in both byte orders, with how far it has to be turned', async (t) => {
  for (const little of [true, false]) {
    for (const [orientation, degrees] of Object.entries({ 1: 0, 3: 180, 6: 90, 8: 270, 9: 0 })) {
      const file = jpegWithExif({ picture, orientation: Number(orientation), little });
      t.strictSame(embeddedThumbnail(file), { bytes: picture, degrees });
    }
  }
  const file = jpegWithExif({ picture });
  // another segment of an application, such as JFIF, may stand before it
  const jfif = [0xff, 0xe0, 0, 4, 1, 2];
  const behind = new Uint8Array([...file.subarray(0, 2), ...jfif, ...file.subarray(2)]);
  t.strictSame(embeddedThumbnail(behind)?.bytes, picture);
});

t.test('what has none, or is cut off within it, has none', async (t) => {
  const file = jpegWithExif({ picture });
  for (const length of [0, 1, 2, 11, 12, 30, 60, file.byteLength - 1]) {
    t.equal(embeddedThumbnail(file.slice(0, length)), null, `${length} bytes`);
  }
  t.equal(embeddedThumbnail(jpegWithExif({ picture: new Uint8Array() })), null);
  t.equal(embeddedThumbnail(new Uint8Array([0x89, 0x50, ...file])), null, 'no JPEG');
});

t.test('bytes that make no sense neither throw nor hang', async () => {
  const file = jpegWithExif({ picture: picture.subarray(0, 40) });
  const changes = fc.array(fc.tuple(fc.nat(file.byteLength - 1), fc.nat(255)), { maxLength: 12 });
  fc.assert(
    fc.property(changes, (list) => {
      const broken = file.slice();
      for (const [at, byte] of list) broken[at] = byte;
      const found = embeddedThumbnail(broken);
      return found === null || found.bytes.byteLength <= broken.byteLength;
    }),
  );
});
