import { count, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import type { Handler } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { doorErrors, header, jsonContent } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { usualPartBytes } from '../direct/plan-parts.ts';
import type { OperationDefinition } from './operation.ts';

export interface UploadOptionsDeps {
  readonly maxUploadBytes: number;
  readonly maxDirectBytes: number;
  /** The smallest part of a direct upload. Bytes. */
  readonly smallestPart: number;
  /** Where browsers reach the bucket; null: nobody said that they do. */
  readonly bucketOrigin: string | null;
}

/** Seconds for which clients may remember the answer. */
const lifetime = 300;

const bytes = (description: string) => ({ ...count, description });

const options = named(
  'UploadOptions',
  exactObject({
    maxUploadBytes: bytes('The largest file of a form, or of a plain body'),
    resumable: exactObject({ maxBytes: bytes('The largest resumable upload') }),
    direct: exactObject({
      maxBytes: bytes('The largest file that is sent straight to the object store'),
      partBytes: bytes('Its parts, unless the client wishes others'),
      smallestPartBytes: bytes('The smallest part but the last'),
      origin: nullable({
        ...string,
        description: 'Where clients reach the bucket (S3_PUBLIC_ENDPOINT); null: not said',
      }),
    }),
  }),
);

export const uploadOptions: OperationDefinition<UploadOptionsDeps> = {
  summary: 'Get the limits of uploads',
  description: 'The same for every project of a server, so that clients may remember it for five minutes.',
  access: 'none',
  needs: null,
  answers: {
    200: {
      description: 'The limits',
      headers: { 'Cache-Control': header(`public, max-age=${lifetime}`) },
      content: jsonContent(options),
    },
  },
  errors: [...doorErrors, 'invalid_slug'],
  sample: (base) => curl({ url: `${base}/_f_/demo/options` }),
  handler: uploadOptionsOperation,
};

/** GET /_f_/{project_slug}/options */
function uploadOptionsOperation(deps: UploadOptionsDeps): Handler {
  const { maxUploadBytes, maxDirectBytes, smallestPart, bucketOrigin } = deps;
  const body = JSON.stringify({
    maxUploadBytes,
    resumable: { maxBytes: maxUploadBytes },
    direct: {
      maxBytes: maxDirectBytes,
      partBytes: usualPartBytes,
      smallestPartBytes: smallestPart,
      origin: bucketOrigin,
    },
  });
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': `public, max-age=${lifetime}`,
  };
  return (request) => {
    readProjectSlug(request);
    return { status: 200, headers, body };
  };
}
