import { type Exchange, fieldOf } from '../../files/exchange.ts';
import type { SeedFile } from '../../files/file-session.ts';
import { Refusal } from '../../files/refusal.ts';
import type { S3Place } from './s3-place.ts';

/** Parts of one object that are sent at once. */
const partsAtOnce = 4;
/** Of an object in parts: what `CompleteMultipartUpload` gets. */
const xmlType = 'Content-Type: application/xml\r\n';

/** PutObject, or a multipart upload for a file that is larger than a part. @returns an address that needs no keys */
export async function uploadObject(place: S3Place, exchange: Exchange, file: SeedFile): Promise<string> {
  if (file.bytes > place.partBytes) await uploadParts(place, exchange, file);
  else
    await exchange.expect(200, {
      ...place.request('PUT', file.name),
      body: exchange.slices(file, 0, file.bytes),
      bytes: file.bytes,
    });
  return place.presigned('GET', file.name);
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
async function uploadParts(place: S3Place, exchange: Exchange, file: SeedFile): Promise<void> {
  const created = await exchange.expect(200, place.request('POST', file.name, { uploads: '' }));
  const uploadId = unescaped(/<UploadId>([^<]+)<\/UploadId>/.exec(created.body.toString())?.[1]);
  if (uploadId === '') throw new Refusal(created, 'no_upload_id');
  try {
    const etags = await sendParts(place, exchange, file, uploadId);
    const parts = etags.map(
      (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const { request, fields } = place.request('POST', file.name, { uploadId });
    const call = { request, fields: fields + xmlType, body: [body], bytes: body.byteLength };
    const completed = await exchange.expect(200, call);
    // it may begin with 200 and fail afterwards
    if (completed.body.includes('<Error>')) throw new Refusal(completed);
  } catch (error) {
    // its parts would stay; the error is the one that counts
    await exchange.send(place.request('DELETE', file.name, { uploadId })).catch(() => null);
    throw error;
  }
}

async function sendParts(
  place: S3Place,
  exchange: Exchange,
  file: SeedFile,
  uploadId: string,
): Promise<string[]> {
  const count = Math.ceil(file.bytes / place.partBytes);
  const etags: string[] = [];
  let next = 0;
  const sendSome = async (): Promise<void> => {
    while (next < count) {
      const part = next++;
      const [from, to] = [part * place.partBytes, Math.min((part + 1) * place.partBytes, file.bytes)];
      const answer = await exchange.expect(200, {
        ...place.request('PUT', file.name, { partNumber: `${part + 1}`, uploadId }),
        body: exchange.slices(file, from, to),
        bytes: to - from,
      });
      const etag = fieldOf(answer, 'etag');
      if (etag === null) throw new Refusal(answer, 'no_etag');
      etags[part] = etag;
    }
  };
  const senders = Array.from({ length: Math.min(partsAtOnce, count) }, sendSome);
  const ended = await Promise.allSettled(senders);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return etags;
}

function unescaped(text = ''): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}
