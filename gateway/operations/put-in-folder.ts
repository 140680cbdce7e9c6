import { headerParameter, queryParameter } from '#server/openapi/api-operation.ts';
import { curl, keeping } from '#server/openapi/curl.ts';
import { anyFile, type OperationDefinition, sendingParameters, storedAnswer } from './operation.ts';
import { putErrors, putFileOperation } from './put-file.ts';
import type { UploadDeps } from './upload.ts';

export const folderId = {
  description: 'The `folder` of a CloudFile',
  schema: { type: 'string', format: 'uuid' },
} as const;

export const pathInFolder = {
  description:
    'Where the file is below the folder: one to 20 segments, each percent-encoded by itself, with slashes between them',
  schema: { type: 'string', minLength: 1, maxLength: 900 },
} as const;

/** A shell sample that makes a folder and keeps it in FOLDER. */
export function folderSample(base: string): string {
  const put = curl({ url: `${base}/_f_/demo/new/page/index.txt`, more: ['-T index.txt'] });
  return `echo hello > index.txt\n${keeping('FOLDER', 'folder', put)}\n`;
}

/** PUT /_f_/{project_slug}/{folder}/{path} */
export const putInFolder: OperationDefinition<UploadDeps> = {
  summary: 'Upload a file into a folder',
  description:
    'The folder `new` makes a folder: the `folder` of the answer is its id, which later files use. A path has one file. To replace it, send its ETag as If-Match; readers get the old file or the new one.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [
    ...sendingParameters,
    queryParameter('expiresIn', 'Seconds after which the file is gone'),
    headerParameter('If-Match', 'ETags, or `*`: replaces the file at the path, or 412'),
    headerParameter('If-None-Match', '`*`: 412 instead of 409 where the path has a file'),
  ],
  pathParameters: {
    folder: { description: 'The `folder` of a CloudFile, or `new`', schema: { type: 'string' } },
    rest: pathInFolder,
  },
  body: { description: 'The bytes', content: anyFile },
  answers: storedAnswer('The stored file'),
  errors: [...putErrors, 'malformed_request'],
  sample: (base) =>
    `${folderSample(base)}${curl({ url: `${base}/_f_/demo/$FOLDER/page/more.txt`, more: ['-T index.txt'] })}`,
  handler: (deps) => deps.access.refundOnFailure(putFileOperation(deps)),
};
