import fc from 'fast-check';
import t from 'tap';
import { AwsChunkedDecoder } from '../services/s3-stub/aws-chunked.ts';
import { S3Error } from '../services/s3-stub/s3-error.ts';
import { awsChunkedBody } from '../services/signed-request.ts';
import { sized } from '../services/test-size.ts';
import { thrownBy } from '../services/thrown-by.ts';

function decode(pieces: Iterable<Uint8Array>): { data: string; decoder: AwsChunkedDecoder } {
  const data: Buffer[] = [];
  const decoder = new AwsChunkedDecoder((chunk) => {
    data.push(Buffer.from(chunk));
    return undefined;
  }, null);
  for (const piece of pieces) void decoder.write(Buffer.from(piece));
  decoder.end();
  return { data: Buffer.concat(data).toString('latin1'), decoder };
}

function codeOf(body: string): string | undefined {
  const error = thrownBy(() => decode([Buffer.from(body, 'latin1')]));
  return error instanceof S3Error ? error.code : undefined;
}

t.test('a body is the same however it is cut', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 5 }),
      fc.array(fc.nat(400), { maxLength: 30 }),
      (chunks, cuts) => {
        const body = awsChunkedBody(chunks, ['x-amz-checksum-crc32:AAAAAA==']);
        const at = [0, ...cuts.filter((cut) => cut < body.length).sort((a, b) => a - b), body.length];
        const pieces = at.slice(1).map((end, index) => body.subarray(at[index], end));
        const { data, decoder } = decode(pieces);
        return (
          data === Buffer.concat(chunks).toString('latin1') &&
          decoder.decodedBytes === data.length &&
          decoder.trailer.get('x-amz-checksum-crc32') === 'AAAAAA=='
        );
      },
    ),
    { numRuns: sized(500) },
  );
  const body = awsChunkedBody([Buffer.from('hello '), Buffer.from('world')], ['a:b', 'C: d ']);
  const { data, decoder } = decode(Array.from(body, (byte) => Buffer.of(byte)));
  t.equal(data, 'hello world', 'byte by byte');
  t.strictSame(
    [...decoder.trailer],
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  );
});

t.test('the last empty line may be missing when there is no trailer', async (t) => {
  t.equal(decode([Buffer.from('2\r\nhi\r\n0\r\n')]).data, 'hi');
  t.equal(decode([Buffer.from('0\r\n\r\n')]).data, '');
  t.equal(codeOf('2\r\nhi\r\n0\r\na:b\r\n'), 'IncompleteBody');
});

t.test('every unfinished body is refused', async (t) => {
  const body = '3\r\nabc\r\n0\r\na:b\r\n\r\n';
  for (let end = 0; end < body.length; end++) {
    // without any trailer line the empty one may be missing: see above
    if (body.slice(0, end).endsWith('0\r\n')) continue;
    t.equal(codeOf(body.slice(0, end)), 'IncompleteBody', JSON.stringify(body.slice(0, end)));
  }
  t.equal(codeOf(body), undefined);
});

t.test('malformed bodies are refused', async (t) => {
  t.equal(codeOf('x\r\n'), 'InvalidRequest', 'no size');
  t.equal(codeOf('-1\r\n'), 'InvalidRequest', 'negative size');
  t.equal(codeOf('1;chunk-signature=zz\r\na\r\n'), 'InvalidRequest', 'no signature');
  t.equal(codeOf('1\r\nab\r\n'), 'InvalidRequest', 'a longer chunk');
  t.equal(codeOf('0\r\n\r\nmore'), 'InvalidRequest', 'bytes after the end');
  t.equal(codeOf('0\r\nno colon\r\n\r\n'), 'MalformedTrailerError', 'a trailer without colon');
  t.equal(codeOf('a'.repeat(5000)), 'InvalidRequest', 'an endless line');
  t.equal(codeOf(`0\r\n${'a:b\r\n'.repeat(11)}\r\n`), 'MalformedTrailerError', 'an endless trailer');
});
