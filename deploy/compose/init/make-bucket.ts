import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';

export interface BucketSettings {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Credentials that may create buckets. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** URL of SeaweedFS's filer, which gets the rule for syncing; undefined: another server. */
  readonly filerUrl: string | undefined;
}

/** Deadline of each request. Milliseconds. */
const timeout = 20_000;

/** Creates the bucket if it doesn't exist, and makes the server sync its files before it answers. */
export async function makeBucket(settings: BucketSettings): Promise<void> {
  const { endpoint, region, bucket, credentials, filerUrl } = settings;
  if (filerUrl !== undefined) await syncBuckets(filerUrl);
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }), {
      abortSignal: AbortSignal.timeout(timeout),
    });
  } catch (error) {
    const { name } = error as Error;
    if (name !== 'BucketAlreadyOwnedByYou' && name !== 'BucketAlreadyExists') throw error;
  }
  await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: AbortSignal.timeout(timeout) });
  client.destroy();
}

/** https://github.com/seaweedfs/seaweedfs/wiki/Path-Specific-Configuration: the filer reloads the file when it changes. */
async function syncBuckets(filerUrl: string): Promise<void> {
  const rules = { locations: [{ locationPrefix: '/buckets/', fsync: true }] };
  const form = new FormData();
  form.set('file', new Blob([JSON.stringify(rules)]), 'filer.conf');
  const response = await fetch(`${filerUrl}/etc/seaweedfs/filer.conf`, {
    method: 'POST',
    body: form,
    signal: AbortSignal.timeout(timeout),
  });
  if (!response.ok) throw new Error(`the filer answered ${response.status} to its rules`);
}

interface Identities {
  readonly identities: readonly {
    readonly name: string;
    readonly credentials: readonly { readonly accessKey: string; readonly secretKey: string }[];
  }[];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { S3_ENDPOINT, S3_REGION, S3_BUCKET, FILER_URL, IDENTITIES_FILE } = process.env;
  const text = await readFile(IDENTITIES_FILE || '/keys/s3/s3.json', 'utf8');
  const admin = (JSON.parse(text) as Identities).identities.find(({ name }) => name === 'admin')
    ?.credentials[0];
  if (admin === undefined || !S3_ENDPOINT || !S3_BUCKET) {
    throw new Error('S3_ENDPOINT, S3_BUCKET and a file with the identity admin are needed');
  }
  await makeBucket({
    endpoint: S3_ENDPOINT,
    region: S3_REGION || 'us-east-1',
    bucket: S3_BUCKET,
    credentials: { accessKeyId: admin.accessKey, secretAccessKey: admin.secretKey },
    filerUrl: FILER_URL || undefined,
  });
  process.stdout.write(`the bucket ${S3_BUCKET} is there\n`);
}
