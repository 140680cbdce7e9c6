import fc from 'fast-check';
import t from 'tap';
import { largestPart, partBytesFor } from '#kernel/config/s3-part-sizes.ts';
import { sized } from '../services/test-size.ts';

const MiB = 1024 ** 2;
const TiB = 1024 ** 4;
const unknown = Number.POSITIVE_INFINITY;
const sizes = (partBytes: number, maxObjectBytes: number) => ({ partBytes, maxObjectBytes });

/** How many parts an object of the size becomes when parts are filled one after the other. */
function partsOf(
  limits: { partBytes: number; maxObjectBytes: number },
  size: number,
  known: number,
  small = false,
): number {
  let rest = size;
  let index = 0;
  while (rest > 0) rest -= partBytesFor(limits, index++, known, small);
  return index;
}

t.test('the base size where it does', async (t) => {
  const limits = sizes(8 * MiB, 100_000_000);
  t.equal(partBytesFor(limits, 0, 1000), 8 * MiB);
  t.equal(partBytesFor(limits, 9999, unknown), 8 * MiB);
  t.equal(largestPart(limits), 8 * MiB);
  // exactly what fits
  t.equal(largestPart(sizes(8 * MiB, 8 * MiB * 9900)), 8 * MiB);
  t.not(largestPart(sizes(8 * MiB, 8 * MiB * 9900 + 1)), 8 * MiB);
});

t.test('the smallest that S3 takes, where memory is short', async (t) => {
  const limits = sizes(8 * MiB, 100_000_000);
  t.equal(partBytesFor(limits, 0, 1000, true), 5 * MiB);
  t.equal(partBytesFor(limits, 9999, unknown, true), 5 * MiB);
  t.equal(partBytesFor(sizes(5 * MiB, 100_000_000), 0, 1000, true), 5 * MiB);
  const huge = sizes(8 * MiB, 5 * TiB);
  t.equal(partBytesFor(huge, 0, 5 * MiB * 9900, true), 5 * MiB);
  t.equal(partBytesFor(huge, 0, 5 * MiB * 9900 + 1, true), 6 * MiB);
  t.equal(partBytesFor(huge, 0, 5 * TiB, true), 530 * MiB);
  t.equal(partBytesFor(huge, 0, unknown, true), 8 * MiB, 'it might be larger than 10,000 small parts');
});

t.test('a known length gets one larger size', async (t) => {
  const limits = sizes(8 * MiB, 5 * TiB);
  t.equal(partBytesFor(limits, 0, 8 * MiB * 9900), 8 * MiB);
  t.equal(partBytesFor(limits, 0, 8 * MiB * 9900 + 1), 9 * MiB);
  t.equal(partBytesFor(limits, 0, 5 * TiB), 530 * MiB);
  t.equal(partBytesFor(limits, 9999, 5 * TiB), 530 * MiB);
  // a form is longer than its file
  t.equal(partBytesFor(limits, 0, 6 * TiB), 530 * MiB);
});

t.test('an unknown length begins with the base size', async (t) => {
  const limits = sizes(8 * MiB, 5 * TiB);
  t.equal(partBytesFor(limits, 4999, unknown), 8 * MiB);
  t.ok(partBytesFor(limits, 5000, unknown) > 1000 * MiB);
  t.equal(largestPart(limits), partBytesFor(limits, 5000, unknown));
});

t.test('every size fits into 10,000 parts, none of which is larger than said', async (t) => {
  const partBytes = fc.integer({ min: 5 * MiB, max: 1024 * MiB });
  const maxObjectBytes = fc.integer({ min: 1, max: 5 * TiB });
  fc.assert(
    fc.property(partBytes, maxObjectBytes, fc.double({ min: 0, max: 1, noNaN: true }), (part, max, share) => {
      const limits = sizes(part, max);
      const size = Math.max(1, Math.floor(max * share));
      for (const [length, known] of [
        [max, unknown],
        [max, max],
        [size, unknown],
        [size, size],
        [size, max + MiB],
      ] as const) {
        if (partsOf(limits, length, known) > 10_000) return false;
        if (partsOf(limits, length, known, true) > 10_000) return false;
        for (const index of [0, 4999, 5000, 9999]) {
          const bytes = partBytesFor(limits, index, known);
          // "Part size: 5 MB to 5 GB"
          if (bytes < part || bytes > largestPart(limits) || bytes > 5 * 1024 * MiB) return false;
          const few = partBytesFor(limits, index, known, true);
          if (few < 5 * MiB || few > bytes) return false;
        }
      }
      return true;
    }),
    { numRuns: sized(200) },
  );
  t.pass();
});
