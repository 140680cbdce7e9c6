import { S3Client } from '@aws-sdk/client-s3';
import { type S3Place, s3Address } from './s3-address.ts';

/** The address of an object for readers of the bucket: virtual-host or path style, as the place says. */
export function s3ObjectUrls(place: S3Place): (key: string) => string {
  // only for its rules: it never sends a request
  const client = new S3Client({ region: place.region });
  const { url } = s3Address(client.config, place);
  client.destroy();
  return url;
}
