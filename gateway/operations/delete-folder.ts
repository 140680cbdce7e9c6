import { touchable } from '#catalogue/file-rules/touchable.ts';
import { isUuid } from '#kernel/ids/is-uuid.ts';
import { boolean, exactObject, named } from '#kernel/json/schema.ts';
import { keysAtOnce } from '#objects/object-store.ts';
import type { Handler } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { accountErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { FileCursor } from '../catalogue/file-list.ts';
import { noSuchFolder } from '../folders/folder-places.ts';
import { isKnownFolder } from '../folders/known-folder.ts';
import { type DeleteFileDeps, deleteFile, deletionDeadline, readAtOnce } from './delete-file.ts';
import { deleteFound, deletionCounts, type Failure } from './delete-files.ts';
import type { OperationDefinition } from './operation.ts';
import { folderId, folderSample } from './put-in-folder.ts';

/** A request begins no further files after this time: proxies give up after a minute. Milliseconds. */
const patience = 20_000;
/** Files that an answer says were not deleted. */
const mostFailures = 1000;

const folderDeletions = named(
  'FolderDeletions',
  exactObject({
    ...deletionCounts,
    more: {
      ...boolean,
      description: 'Whether there may be more files to delete: send the request again',
    },
  }),
);

export interface DeleteFolderDeps extends DeleteFileDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findAny' | 'list' | 'ownerOfFolder' | 'remove'>;
}

export const deleteFolder: OperationDefinition<DeleteFolderDeps> = {
  summary: 'Delete a folder',
  description:
    'Deletes its files, a thousand at a time and for some 20 seconds: `more` says whether to send the request again. Files that records name stay, with the folder, and so do those that rules do not let the sender delete.',
  access: 'token',
  needs: { grant: 'files:delete', touches: 'beside spaces' },
  pathParameters: { folder: folderId },
  parameters: deleteFile.parameters ?? [],
  answers: { 200: jsonAnswer('The number of deleted files, and the failures', folderDeletions) },
  errors: [...accountErrors, 'invalid_slug', 'invalid_options', 'not_found', 'unavailable'],
  sample: (base) => folderSample(base) + curl({ method: 'DELETE', url: `${base}/_f_/demo/$FOLDER/` }),
  handler: deleteFolderOperation,
};

/** DELETE /_f_/{project_slug}/{folder}/ */
function deleteFolderOperation(deps: DeleteFolderDeps): Handler {
  const { authenticate, cloudFiles } = deps;
  return async (request) => {
    const projectSlug = readProjectSlug(request);
    const { userId: ownerId, bound } = await authenticate(request);
    const atOnce = readAtOnce(request);
    const mayDelete = touchable(bound, 'read', 'delete');
    const { folder = '' } = request.params;
    const isThere =
      isUuid(folder) && isKnownFolder(cloudFiles, { folder, ownerId, projectSlug }, bound, request.signal);
    if (!(await isThere)) throw noSuchFolder();
    const until = performance.now() + patience;
    const failed: Failure[] = [];
    let deleted = 0;
    let more = true;
    // oldest first, so that files that are added meanwhile are found at the end
    for (let after: FileCursor | undefined; more && performance.now() < until; ) {
      request.signal.throwIfAborted();
      const query = { ownerId, projectSlug, folder, after, ascending: true, limit: keysAtOnce };
      const files = await cloudFiles.list(query, request.signal);
      // what is begun completes even if the client disconnects
      const done = await deleteFound(
        deps,
        { place: { ownerId, slug: projectSlug }, found: files.filter(mayDelete), atOnce },
        deletionDeadline(),
      );
      deleted += done.deleted;
      // a file that another request deleted meanwhile is gone
      const left = done.failed.filter(({ code }) => code !== 'not_found');
      failed.push(...left.slice(0, mostFailures - failed.length));
      after = files.at(-1);
      more = files.length === keysAtOnce;
    }
    return noStoreJson({ deleted, failed, more });
  };
}
