import { S3Client } from '@aws-sdk/client-s3';

/** A bucket's name that can stand in a host name that a wildcard certificate covers. */
const hostLabel = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

export interface S3Place {
  readonly bucket: string;
  /** undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** The bucket is named in the path, not in the host name. */
  readonly forcePathStyle: boolean;
}

/** The address of a bucket's objects. */
export interface S3Address {
  /** The endpoint, with the bucket where it belongs; without a trailing slash. */
  readonly base: URL;
  readonly signingRegion: string;
  /** The path of an object's URL. */
  path(key: string): string;
  url(key: string): string;
}

export function usesPathStyle({ bucket, forcePathStyle }: S3Place): boolean {
  return forcePathStyle || !hostLabel.test(bucket);
}

/** Asks the SDK's own rules, so that our requests and those of the SDK go to the same place. */
export function s3Address(config: Pick<S3Client['config'], 'endpointProvider'>, place: S3Place): S3Address {
  const { url, properties } = config.endpointProvider({
    Bucket: place.bucket,
    Region: place.region,
    ForcePathStyle: usesPathStyle(place),
    UseFIPS: false,
    UseDualStack: false,
    Accelerate: false,
    ...(place.endpoint !== undefined && { Endpoint: place.endpoint }),
  });
  const folder = url.pathname.replace(/\/$/, '');
  const path = (key: string) => `${folder}/${key.split('/').map(escapeUri).join('/')}`;
  const [scheme] = (properties?.authSchemes ?? []) as readonly { readonly signingRegion?: string }[];
  return {
    base: url,
    signingRegion: scheme?.signingRegion ?? place.region,
    path,
    url: (key) => url.origin + path(key),
  };
}

/** The address of an object for readers of the bucket: virtual-host or path style, as the place says. */
export function s3ObjectUrls(place: S3Place): (key: string) => string {
  // only for its rules: it never sends a request
  const client = new S3Client({ region: place.region });
  const { url } = s3Address(client.config, place);
  client.destroy();
  return url;
}

/** Like the UriEncode of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
export function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
