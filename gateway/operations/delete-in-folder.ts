import { curl } from '#server/openapi/curl.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { fileNotFound } from '../download/object-bytes.ts';
import { readPlace } from '../folders/read-place.ts';
import { type DeleteFileDeps, deleteFile, deleteFileOperation } from './delete-file.ts';
import type { OperationDefinition } from './operation.ts';
import { folderId, folderSample, pathInFolder } from './put-in-folder.ts';

export interface DeleteInFolderDeps extends DeleteFileDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findAny' | 'findInFolder' | 'remove'>;
}

/** DELETE /_f_/{project_slug}/{folder}/{rest} */
export const deleteInFolder: OperationDefinition<DeleteInFolderDeps> = {
  ...deleteFile,
  summary: 'Delete a file of a folder',
  description: 'Like the deletion of a file by its name. A folder without files is gone.',
  pathParameters: { folder: folderId, rest: pathInFolder },
  errors: [...deleteFile.errors, 'malformed_request'],
  sample: (base) =>
    folderSample(base) + curl({ method: 'DELETE', url: `${base}/_f_/demo/$FOLDER/page/index.txt` }),
  handler: (deps) =>
    deleteFileOperation(deps, async (request) => {
      const { signed, ...place } = readPlace(request);
      if (signed !== null) throw fileNotFound();
      return deps.cloudFiles.findInFolder(place, request.signal);
    }),
};
