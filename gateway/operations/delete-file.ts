import type { Authenticate } from '#auth/authenticate.ts';
import { isStoredName } from '#catalogue/file-key.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { Handler } from '#server/http/http-types.ts';
import { accountErrors, noStore } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { assertPreconditions, validatorsOf } from '../download/conditional.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { fileName, nameOfUpload, type OperationDefinition } from './operation.ts';

export interface DeleteFileDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findByName' | 'remove'>;
  readonly store: Pick<ObjectStore, 'delete' | 'deleteAll'>;
  readonly quota: Pick<Quota, 'freed'>;
}

/** Time limit of the stores for a deletion that has begun. Milliseconds. */
export const deletionDeadline = 30_000;

export const deleteFile: OperationDefinition<DeleteFileDeps> = {
  summary: 'Delete a file',
  description: 'Deletes its bytes and its metadata. Copies in caches and CDNs stay.',
  access: 'token',
  needs: { grant: 'files:delete', touches: 'beside spaces' },
  pathParameters: fileName,
  answers: { 204: { description: 'The file is deleted', headers: noStore } },
  errors: [...accountErrors, 'not_found', 'precondition_failed', 'unavailable'],
  sample: (base) => nameOfUpload(base) + curl({ method: 'DELETE', url: `${base}/_f_/demo/$NAME` }),
  handler: deleteFileOperation,
};

/**
 * DELETE /_f_/{project_slug}/{name}: the object goes first, then the row. A process that dies in between leaves a row
 * without an object: a download answers 404, the file can be deleted again, and the janitor removes the row of a young
 * file. The other way round it would leave an object without a row, which the janitor gives a row again: the file would
 * be back. For the same reason the janitor asks for the row before it looks at the object: so it takes no object for one
 * without a row while this is under way.
 */
function deleteFileOperation({ authenticate, cloudFiles, store, quota }: DeleteFileDeps): Handler {
  return async (request) => {
    const { userId } = await authenticate(request);
    const { project, name = '' } = request.params;
    const file = isStoredName(name) ? await cloudFiles.findByName(name, request.signal) : null;
    if (file === null || file.projectSlug !== project || file.ownerId !== userId) throw fileNotFound();
    assertPreconditions((name) => request.header(name), validatorsOf(file));
    // a client that goes away does not leave half of it
    const signal = AbortSignal.timeout(deletionDeadline);
    await store.delete(file.objectKey, signal);
    // the row that was found may be older than a removal by another process
    if (!(await cloudFiles.remove(name, signal))) throw fileNotFound();
    quota.freed(userId);
    return { status: 204, headers: { 'cache-control': 'no-store' } };
  };
}
