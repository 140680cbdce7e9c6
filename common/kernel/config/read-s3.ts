import {
  baseUrl,
  flag,
  integer,
  type ReadContext,
  refuseSet,
  text,
  type Values,
  type Variable,
  type VariableReader,
  variable,
} from './variable.ts';

const variables = {
  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html; other servers allow capitals and `_`
  bucket: text('S3_BUCKET', {
    fits: (given) => /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(given),
    form: 'the name of a bucket',
  }),
  endpoint: endpoint('S3_ENDPOINT', 'AWS'),
  publicEndpoint: endpoint('S3_PUBLIC_ENDPOINT', 'S3_ENDPOINT'),
  region: text('S3_REGION', {
    fallback: 'us-east-1',
    fits: (given) => /^[a-z0-9][a-z0-9-]{0,62}$/.test(given),
    form: 'the name of a region such as eu-west-1',
  }),
  accessKeyId: text('S3_ACCESS_KEY_ID', { shown: 'the AWS SDK’s usual chain' }),
  secretAccessKey: text('S3_SECRET_ACCESS_KEY'),
  forcePathStyle: flag('S3_FORCE_PATH_STYLE', undefined, 'true with S3_ENDPOINT, else false'),
  publicBucket: flag('S3_PUBLIC_BUCKET', false),
};

export const s3 = {
  title: 'S3',
  variables: {
    s3: variables,
    s3RequestTimeout: integer('S3_REQUEST_TIMEOUT_MS', 60_000, [100, 3_600_000]),
  },
};

/** The bucket that stores files instead of the file system. Without credentials the SDK’s default chain provides them. */
export type S3Config = NonNullable<ReturnType<typeof readS3>>;

/** The S3_* variables; undefined without S3_BUCKET. */
export function readS3(values: Values<typeof variables>, context: ReadContext) {
  const { accessKeyId, secretAccessKey, ...read } = values;
  const { bucket, ...others } = variables;
  if (!context.env[bucket.name]) {
    refuseSet(context, others, 'S3_BUCKET is not');
    return undefined;
  }
  const hasBoth = accessKeyId !== undefined && secretAccessKey !== undefined;
  if (!hasBoth && accessKeyId !== secretAccessKey) {
    context.problems.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY should be set together');
  }
  return Object.freeze({
    ...read,
    bucket: read.bucket ?? '',
    credentials: hasBoth ? { accessKeyId, secretAccessKey } : undefined,
    forcePathStyle: read.forcePathStyle ?? read.endpoint !== undefined,
  });
}

/** Refuses a user or password: S3 does not use them, and the address is not kept secret. */
function endpoint(name: string, shown: string): Variable<string | undefined> {
  const { read } = baseUrl(name);
  const readEndpoint: VariableReader<string | undefined> = (given, problems) => {
    const url = given !== undefined && URL.canParse(given) ? new URL(given) : null;
    if (url === null || (url.username === '' && url.password === '')) return read(given, problems);
    problems.push(`${name} should hold no user name and no password`);
    return undefined;
  };
  return variable(name, readEndpoint, { shown });
}
