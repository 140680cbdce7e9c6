import { S3Client } from '@aws-sdk/client-s3';

/** A bucket name that can be part of a host name under a wildcard certificate. */
const hostLabel = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

export interface S3Place {
  readonly bucket: string;
  /** undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Whether the bucket is in the path, not in the host name. */
  readonly forcePathStyle: boolean;
}

/** The address of a bucket's objects. */
export interface S3Address {
  /** The base URL, including the bucket; without a trailing slash. */
  readonly base: URL;
  readonly signingRegion: string;
  /** The path of an object's URL. */
  path(key: string): string;
  url(key: string): string;
}

export function usesPathStyle({ bucket, forcePathStyle }: S3Place): boolean {
  return forcePathStyle || !hostLabel.test(bucket);
}

/** Uses the SDK's own rules, so that our requests and the SDK's go to the same URL. */
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

/** A bucket, and the endpoint at which clients reach it; absent: the same. */
export interface S3PublicPlace extends S3Place {
  readonly publicEndpoint?: string | undefined;
}

/** The bucket as clients reach it. */
export function publicPlace({ publicEndpoint, ...place }: S3PublicPlace): S3Place {
  return { ...place, endpoint: publicEndpoint ?? place.endpoint };
}

/** The URL of an object for clients, in virtual-host or path style. */
export function s3ObjectUrls(place: S3PublicPlace): (key: string) => string {
  // this client only provides its rules, and never sends a request
  const client = new S3Client({ region: place.region });
  const { url } = s3Address(client.config, publicPlace(place));
  client.destroy();
  return url;
}

const unreserved = /^[A-Za-z0-9_.~-]*$/;

/** Like the UriEncode of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
export function escapeUri(text: string): string {
  // most of what is signed
  if (unreserved.test(text)) return text;
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A query, sorted by name as it is signed; without the question mark. */
export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${escapeUri(name)}=${escapeUri(query[name] as string)}`)
    .join('&');
}
