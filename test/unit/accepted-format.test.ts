import t from 'tap';
import { acceptedFormat } from '#gateway/images/accepted-format.ts';

t.test('the format of a picture is the best one that Accept names', async (t) => {
  for (const [accept, format] of [
    [undefined, 'jpeg'],
    ['', 'jpeg'],
    ['*/*', 'jpeg'],
    ['image/*', 'jpeg'],
    ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'avif'],
    ['image/webp,image/avif', 'avif'],
    ['IMAGE/AVIF', 'avif'],
    ['text/html, image/webp ;q=0.5', 'webp'],
    ['image/avif;q=0, image/webp', 'webp'],
    ['image/avif; q=0.000 ,image/webp', 'webp'],
    ['image/avif;x=1;q=0', 'jpeg'],
    ['image/avif;q=0.001', 'avif'],
    ['image/avif;q=0,image/avif', 'avif'],
    ['image/avif-sequence', 'jpeg'],
    ['x-image/avif', 'jpeg'],
    ['image/jpeg, image/avif;q=0', 'jpeg'],
  ] as const)
    t.equal(acceptedFormat(accept), format, accept ?? 'no header');
});

t.test('long headers are read in one pass', async (t) => {
  for (const piece of [' ', ',', ';', 'q ', '; ', ', ', 'image/avif;'])
    t.equal(acceptedFormat(`image/avif${piece.repeat(20_000)}x`).length, 4);
});
