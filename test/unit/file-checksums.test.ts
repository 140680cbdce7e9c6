import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { type ChecksumName, FileChecksums } from '#gateway/multipart/file-checksums.ts';
import { thrownBy } from '../services/thrown-by.ts';

const content = Buffer.from('what the file holds');
const md5 = createHash('md5').update(content).digest('base64');
const checksum = crc32(content);
const inBase64 = (value: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.toString('base64');
};
const inHex = (value: number): string => value.toString(16).padStart(8, '0');

/** Runs the content through the check in two pieces. Answers the error; null when there is none. */
function checked(headers: Record<string, string[]>, bytes: Buffer = content) {
  return thrownBy(() => {
    const check = new FileChecksums();
    for (const [name, texts] of Object.entries(headers))
      for (const text of texts) check.expect(name as ChecksumName, text);
    check.begin();
    check.update(bytes.subarray(0, 5));
    check.update(bytes.subarray(5));
    check.finish(crc32(bytes));
  });
}

t.test('right checksums pass, in every spelling and together', async (t) => {
  const cases: Record<string, string[]>[] = [
    {},
    { 'content-md5': [md5] },
    { 'content-md5': [` ${md5} `] },
    { 'x-checksum-crc32': [inBase64(checksum)] },
    { 'x-checksum-crc32': [inHex(checksum)] },
    { 'x-checksum-crc32': [inHex(checksum).toUpperCase()] },
    { 'content-md5': [md5], 'x-checksum-crc32': [inBase64(checksum)] },
    { 'content-md5': [md5, md5], 'x-checksum-crc32': [inBase64(checksum), inHex(checksum)] },
  ];
  for (const headers of cases) t.equal(checked(headers), null, JSON.stringify(headers));
});

t.test('the checksums of an empty file', async (t) => {
  const headers = {
    'content-md5': [createHash('md5').digest('base64')],
    'x-checksum-crc32': ['AAAAAA=='],
  };
  t.equal(checked(headers, Buffer.alloc(0)), null);
});

t.test('other bytes are 400, and the headers that say so are named', async (t) => {
  const damaged = Buffer.from(content);
  damaged[7] = (damaged[7] as number) ^ 1;
  t.match(checked({ 'content-md5': [md5] }, damaged), {
    status: 400,
    code: 'checksum_mismatch',
    message: /Content-MD5/,
  });
  t.match(checked({ 'x-checksum-crc32': [inHex(checksum)] }, damaged), {
    status: 400,
    code: 'checksum_mismatch',
    message: /x-checksum-crc32/,
  });
  const both = { 'content-md5': [md5], 'x-checksum-crc32': [inBase64(checksum)] };
  t.match(checked(both, damaged), { message: /x-checksum-crc32 and Content-MD5/ });
  t.match(
    checked({ ...both, 'x-checksum-crc32': [inHex(0)] }),
    { message: /the checksum in x-checksum-crc32$/ },
    'one wrong one is enough',
  );
  for (const sent of [
    [inHex(checksum), inHex(0)],
    [inHex(0), inHex(checksum)],
  ]) {
    t.match(
      checked({ 'x-checksum-crc32': sent }),
      { code: 'checksum_mismatch' },
      'of several, each must fit',
    );
  }
});

t.test('what is no checksum is 400, and nothing is silently left unchecked', async (t) => {
  const malformed: Record<string, string[]>[] = [
    { 'content-md5': [''] },
    { 'content-md5': ['nonsense'] },
    { 'content-md5': [createHash('md5').update(content).digest('hex')] },
    { 'content-md5': [`${md5}=`] },
    { 'content-md5': [createHash('sha256').update(content).digest('base64')] },
    { 'x-checksum-crc32': [''] },
    { 'x-checksum-crc32': ['1234567'] },
    { 'x-checksum-crc32': ['123456789'] },
    { 'x-checksum-crc32': ['AAAAAAA='] },
    { 'x-checksum-crc32': ['AAAA-A=='] },
    { 'x-checksum-crc32': [String(checksum), String(checksum)] },
  ];
  for (const headers of malformed) {
    t.match(checked(headers), { status: 400, code: 'invalid_multipart' }, JSON.stringify(headers));
  }
});
