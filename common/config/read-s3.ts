import type { EnvReader } from './validators.ts';

/** Where files are stored instead of the file system. */
export interface S3Config {
  readonly bucket: string;
  /** undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** undefined: the SDK's default credential chain. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** The bucket is named in the path, not in the host name. */
  readonly forcePathStyle: boolean;
  /** Everybody may read its objects, so an s3Link may be the object's own address. */
  readonly publicBucket: boolean;
}

const otherKeys = [
  'S3_ENDPOINT',
  'S3_REGION',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'S3_FORCE_PATH_STYLE',
  'S3_PUBLIC_BUCKET',
];
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html; other servers allow capitals and `_`. */
const bucketPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const regionPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The S3_* variables; undefined without S3_BUCKET. */
export function readS3(reader: EnvReader): S3Config | undefined {
  const bucket = reader.text('S3_BUCKET');
  if (bucket === undefined) {
    for (const key of otherKeys) {
      if (reader.text(key) !== undefined) reader.problems.push(`${key} is set, but S3_BUCKET is not`);
    }
    return undefined;
  }
  if (!bucketPattern.test(bucket)) {
    reader.problems.push(`S3_BUCKET is ${JSON.stringify(bucket)}: it should be the name of a bucket`);
  }
  const region = reader.text('S3_REGION') ?? 'us-east-1';
  if (!regionPattern.test(region)) {
    reader.problems.push(
      `S3_REGION is ${JSON.stringify(region)}: it should be the name of a region such as eu-west-1`,
    );
  }
  const endpoint = readEndpoint(reader);
  return Object.freeze({
    bucket,
    endpoint,
    region,
    credentials: readCredentials(reader),
    forcePathStyle: reader.boolean('S3_FORCE_PATH_STYLE', reader.text('S3_ENDPOINT') !== undefined),
    publicBucket: reader.boolean('S3_PUBLIC_BUCKET', false),
  });
}

/** A user or password in it would be a secret in an address, and S3 has no use for one. */
function readEndpoint(reader: EnvReader): string | undefined {
  const text = reader.text('S3_ENDPOINT');
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.username !== '' || url.password !== '')) {
    reader.problems.push('S3_ENDPOINT should hold no user name and no password');
    return undefined;
  }
  return reader.baseUrl('S3_ENDPOINT');
}

function readCredentials(reader: EnvReader): S3Config['credentials'] {
  const accessKeyId = reader.text('S3_ACCESS_KEY_ID');
  const secretAccessKey = reader.text('S3_SECRET_ACCESS_KEY');
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    reader.problems.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY should be set together');
    return undefined;
  }
  return { accessKeyId, secretAccessKey };
}
