import type { DirectStore } from '../direct-store.ts';
import { assertObjectKey } from '../object-key.ts';
import type { S3Context } from './s3-context.ts';

/** Presigned requests of a bucket. */
export function createS3DirectStore({ presign }: Pick<S3Context, 'presign'>): DirectStore {
  return {
    async readAddress(key, { contentType, contentDisposition, cacheControl, lifetime }, signal) {
      assertObjectKey(key);
      const query = {
        'response-content-type': contentType,
        'response-content-disposition': contentDisposition,
        'response-cache-control': cacheControl,
      };
      const { url } = await presign({ method: 'GET', key, query, headers: {}, lifetime }, signal);
      return url;
    },
  };
}
