import type { Handler, Route } from '../common/http/http-types.ts';
import { type DeleteFileDeps, deleteFileOperation } from './operations/delete-file.ts';
import { deleteFilesOperation } from './operations/delete-files.ts';
import { type DownloadDeps, downloadOperation } from './operations/download.ts';
import { type LinkDeps, linkOperation } from './operations/link.ts';
import { type ListFilesDeps, listFilesOperation } from './operations/list-files.ts';
import { putFileOperation } from './operations/put-file.ts';
import {
  appendOperation,
  createUploadOperation,
  dropUploadOperation,
  type ResumableDeps,
  uploadStateOperation,
} from './operations/resumable.ts';
import { type UploadDeps, uploadOperation } from './operations/upload.ts';
import { type UploadLinkDeps, uploadLinkOperation } from './operations/upload-link.ts';
import { type GatewayOperation, gatewayOperations } from './operations.ts';
import { draftLimit } from './resumable/draft-headers.ts';
import { tusOptions } from './resumable/tus-headers.ts';
import { UploadAccess, type UploadAccessDeps } from './upload-access.ts';

export type GatewayDeps = Omit<UploadDeps & ResumableDeps, 'access'> &
  DownloadDeps &
  LinkDeps &
  ListFilesDeps &
  DeleteFileDeps &
  UploadLinkDeps &
  UploadAccessDeps;

/** Every address of the upload gateway. */
export function gatewayRoutes(needed: GatewayDeps): Route[] {
  const access = new UploadAccess(needed);
  const deps = { ...needed, access };
  const handlers: Readonly<Record<GatewayOperation['name'], Handler>> = {
    upload: access.counting(uploadOperation(deps)),
    uploadLink: uploadLinkOperation(deps),
    putFile: access.counting(putFileOperation(deps)),
    createUpload: access.counting(createUploadOperation(deps)),
    uploadState: uploadStateOperation(deps),
    append: appendOperation(deps),
    dropUpload: dropUploadOperation(deps),
    link: linkOperation(deps),
    download: downloadOperation(deps),
    listFiles: listFilesOperation(deps),
    deleteFile: deleteFileOperation(deps),
    deleteFiles: deleteFilesOperation(deps),
  };
  return gatewayOperations.map(({ name, ...route }) => ({
    ...route,
    operation: name,
    handler: handlers[name],
    ...(route.path.includes('/resumable')
      ? { optionsHeaders: { ...tusOptions(deps.maxUploadBytes), ...draftLimit(deps.maxUploadBytes) } }
      : {}),
  }));
}
