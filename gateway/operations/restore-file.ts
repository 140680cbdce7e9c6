import type { Authenticate } from '#auth/authenticate.ts';
import { touchable } from '#catalogue/file-rules/touchable.ts';
import { fileExists, fileExpired } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { Handler } from '#server/http/http-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { accountErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { type FileTrash, notInTrash } from '../access/file-trash.ts';
import { type CloudFile, isPublished } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { placeOfFile } from '../catalogue/folder-index.ts';
import { cloudFile, cloudFileJson } from '../files/cloud-file-json.ts';
import { deletionDeadline } from './delete-file.ts';
import { fileName, nameOfUpload, type OperationDefinition } from './operation.ts';

export interface RestoreFileDeps {
  readonly authenticate: Authenticate;
  readonly cloudFiles: Pick<CloudFiles, 'findAny' | 'currentInFolder'>;
  readonly trash: Pick<FileTrash, 'restore'>;
  /** Address under which clients get the file. */
  readonly fileUrl: (file: CloudFile) => string;
}

export const restoreFile: OperationDefinition<RestoreFileDeps> = {
  summary: 'Restore a file',
  description: 'Takes a deleted file out of the trash: it is at its address again. Only with TRASH_DAYS.',
  access: 'token',
  needs: { grant: 'files:delete', touches: 'beside spaces' },
  pathParameters: fileName,
  answers: { 200: jsonAnswer('The restored file', cloudFile) },
  errors: [...accountErrors, 'not_found', 'file_expired', 'file_exists', 'unavailable'],
  sample: (base) =>
    nameOfUpload(base) +
    `${curl({ method: 'DELETE', url: `${base}/_f_/demo/$NAME` })}\n` +
    curl({ method: 'POST', url: `${base}/_f_/demo/$NAME/restore` }),
  handler: restoreFileOperation,
};

/** POST /_f_/{project_slug}/{name}/restore: takes a file out of the trash. Who may delete it may do so. */
function restoreFileOperation({ authenticate, cloudFiles, trash, fileUrl }: RestoreFileDeps): Handler {
  return async (request) => {
    const { userId, bound } = await authenticate(request);
    const mayDelete = touchable(bound, 'read', 'delete');
    const { project, name = '' } = request.params;
    const found = isStoredName(name) ? await cloudFiles.findAny(name, request.signal) : null;
    const isOwn = found?.projectSlug === project && found?.ownerId === userId && mayDelete(found);
    if (!isOwn || found.trashedAt === undefined) throw notInTrash();
    const { trashedAt: _, ...file } = found;
    if (!isPublished(file)) throw fileExpired();
    const place = placeOfFile(file);
    if (place !== null && (await cloudFiles.currentInFolder(place, request.signal)) !== null)
      throw fileExists();
    // it is finished even if the client disconnects
    await trash.restore(found, deletionDeadline());
    return noStoreJson(cloudFileJson(file, fileUrl(file)));
  };
}
