import t from 'tap';
import { S3Signature } from '../../load/targets/s3/s3-signature.ts';

const signature = new S3Signature({
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
});
const now = new Date('2013-05-24T00:00:00Z');

// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html has this example
t.test('an address is signed as in the documentation of S3', (t) => {
  const parts = { method: 'GET', host: 'examplebucket.s3.amazonaws.com', path: '/test.txt' };
  t.match(
    signature.presign(parts, now, 86_400),
    'X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  );
  t.end();
});

t.test('a header names what is signed, and the query is in its order', (t) => {
  const parts = {
    method: 'PUT',
    host: 's3.test',
    path: '/b/k',
    query: { uploadId: 'a b!', partNumber: '2' },
  };
  const { target, fields } = signature.sign(parts, now);
  t.equal(target, '/b/k?partNumber=2&uploadId=a%20b%21');
  t.match(
    fields,
    /^X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\nX-Amz-Date: 20130524T000000Z\r\nAuthorization: /,
  );
  t.match(
    fields,
    /Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request, SignedHeaders=host;/,
  );
  t.end();
});
