import type { Operation } from '../operation.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html; the router refuses other buckets. */
export const headBucket: Operation = {
  body: 'document',
  run: () => ({ status: 200 }),
};
