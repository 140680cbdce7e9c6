import type { Authenticate } from '#auth/authenticate.ts';
import { touchable } from '#catalogue/file-rules/touchable.ts';
import { fileInUse, invalidOptions } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { createSharedDeadline } from '#kernel/limits/deadline.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import { accountErrors, noStore, queryParameter } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { FileTrash } from '../access/file-trash.ts';
import type { Quota } from '../access/storage-quota.ts';
import type { UsedFiles } from '../access/used-files.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { assertPreconditions, validatorsOf } from '../download/conditional.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import { fileName, nameOfUpload, type OperationDefinition } from './operation.ts';

export interface DeleteFileDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findAny' | 'remove'>;
  readonly store: Pick<ObjectStore, 'delete' | 'deleteAll'>;
  readonly quota: Pick<Quota, 'freed'>;
  readonly used: Pick<UsedFiles, 'hold'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  readonly trash: Pick<FileTrash, 'takes' | 'put'>;
}

/** The file of an address; null: there is none. */
export type FindFile = (request: HttpRequest) => Promise<CloudFile | null> | null;

/** Signals with the time limit of a deletion in the stores. */
export const deletionDeadline = createSharedDeadline(30_000);

export const deleteFile: OperationDefinition<DeleteFileDeps> = {
  summary: 'Delete a file',
  description:
    'Deletes the bytes and the metadata of the file. With TRASH_DAYS, the file is in the trash first, and can be restored. Copies in caches and CDNs stay. A file that a record names goes with the record.',
  access: 'token',
  needs: { grant: 'files:delete', touches: 'beside spaces' },
  pathParameters: fileName,
  parameters: [
    queryParameter('trash', 'false: the file is gone at once, also from the trash', {
      type: 'string',
      enum: ['true', 'false'],
      default: 'true',
    }),
  ],
  answers: { 204: { description: 'The file is deleted', headers: noStore } },
  errors: [
    ...accountErrors,
    'invalid_options',
    'not_found',
    'file_in_use',
    'precondition_failed',
    'unavailable',
  ],
  sample: (base) => nameOfUpload(base) + curl({ method: 'DELETE', url: `${base}/_f_/demo/$NAME` }),
  handler: deleteFileOperation,
};

/**
 * DELETE /_f_/{project_slug}/{name}: deletes the object, then the row. A process that dies in between leaves a row
 * without an object: a download answers 404, the file can be deleted again, and the janitor removes the row if the file
 * is recent. The other order would leave an object without a row, and the janitor would restore the file. For the same
 * reason the janitor looks up rows before objects: it never mistakes a deletion under way for a missing row.
 */
export function deleteFileOperation(
  deps: DeleteFileDeps,
  find: FindFile = ({ params: { name = '' }, signal }) =>
    isStoredName(name) ? deps.cloudFiles.findAny(name, signal) : null,
): Handler {
  const { authenticate, cloudFiles, used, plans, trash } = deps;
  return async (request) => {
    const { userId, bound } = await authenticate(request);
    // what is deleted has to be readable, too
    const mayDelete = touchable(bound, 'read', 'delete');
    const atOnce = readAtOnce(request);
    const { project } = request.params;
    const file = await find(request);
    if (file === null || file.projectSlug !== project || file.ownerId !== userId || !mayDelete(file))
      throw fileNotFound();
    if (!isDeletable(file, atOnce)) throw fileNotFound();
    const { name } = file;
    assertPreconditions((name) => request.header(name), validatorsOf(file));
    // the deletion completes even if the client disconnects
    const signal = deletionDeadline();
    const held = await used.hold({ ownerId: userId, slug: project as string }, [name], signal);
    if (held.inUse.has(name)) throw fileInUse();
    const isKept = !atOnce && trash.takes(file);
    try {
      await plans.closeFor([file], signal);
      if (isKept) await trash.put([file], signal);
      else await deps.store.delete(file.objectKey, signal);
    } catch (error) {
      await held.release([name]).catch(() => {});
      throw error;
    }
    // another process may have removed the row meanwhile
    const wasThere = isKept || (await cloudFiles.remove(name, signal));
    held.deleted([name]);
    if (!wasThere) throw fileNotFound();
    if (!isKept) deps.quota.freed(userId);
    return { status: 204, headers: { 'cache-control': 'no-store' } };
  };
}

/**
 * A file in the trash is not there, unless it is to go at once: clients and proxies repeat a DELETE whose answer was lost,
 * and a repeated one must not do more than the first.
 */
export function isDeletable({ trashedAt }: CloudFile, atOnce: boolean): boolean {
  return trashedAt === undefined || atOnce;
}

export function readAtOnce({ query }: HttpRequest): boolean {
  const [value = 'true', ...more] = query.filter(([name]) => name === 'trash').map(([, text]) => text);
  if (more.length > 0 || !/^(?:true|false)$/.test(value))
    throw invalidOptions(['trash should be true or false']);
  return value === 'false';
}
