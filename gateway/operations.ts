import type { Route } from '#server/http/http-types.ts';
import { type DeleteFileDeps, deleteFile } from './operations/delete-file.ts';
import { deleteFiles } from './operations/delete-files.ts';
import {
  completeDirect,
  directPart,
  directState,
  dropDirect,
  planDirect,
} from './operations/describe-direct.ts';
import {
  append,
  createUpload,
  dropUpload,
  overridden,
  uploadState,
} from './operations/describe-resumable.ts';
import type { DirectDeps } from './operations/direct.ts';
import type { DirectPartDeps } from './operations/direct-part.ts';
import { type DownloadDeps, download } from './operations/download.ts';
import { type LinkDeps, link } from './operations/link.ts';
import { type ListFilesDeps, listFiles } from './operations/list-files.ts';
import type { OperationDefinition } from './operations/operation.ts';
import { putFile } from './operations/put-file.ts';
import { type RestoreFileDeps, restoreFile } from './operations/restore-file.ts';
import type { ResumableDeps } from './operations/resumable.ts';
import { type UploadDeps, upload } from './operations/upload.ts';
import { type UploadLinkDeps, uploadLink } from './operations/upload-link.ts';
import { type UploadOptionsDeps, uploadOptions } from './operations/upload-options.ts';

export type OperationDeps = UploadDeps &
  ResumableDeps &
  DirectDeps &
  DirectPartDeps &
  UploadOptionsDeps &
  DownloadDeps &
  LinkDeps &
  ListFilesDeps &
  DeleteFileDeps &
  RestoreFileDeps &
  UploadLinkDeps;

/** A row of the table of operations. */
interface GatewayOperation
  extends Pick<Route, 'method' | 'path' | 'transfersBytes' | 'compressed'>,
    OperationDefinition<OperationDeps> {
  readonly name: string;
  /** In the description of the API; absent: its name. */
  readonly id?: string;
}

const project = '/_f_/:project';
const resumable = `${project}/resumable`;
const direct = `${project}/direct`;
const file = `${project}/:name`;
const transfersBytes = true;

/** All operations of the gateway. Routes and OpenAPI are derived from this table. */
export const gatewayOperations: readonly GatewayOperation[] = [
  { name: 'upload', method: 'POST', path: `${project}/upload`, transfersBytes, ...upload },
  {
    name: 'uploadLink',
    id: 'createUploadLink',
    method: 'POST',
    path: `${project}/upload-link`,
    ...uploadLink,
  },
  { name: 'createUpload', method: 'POST', path: resumable, transfersBytes, ...createUpload },
  { name: 'uploadState', id: 'getUpload', method: 'GET', path: `${resumable}/:name`, ...uploadState },
  { name: 'append', method: 'PATCH', path: `${resumable}/:name`, transfersBytes, ...append },
  { name: 'appendByPost', method: 'POST', path: `${resumable}/:name`, transfersBytes, ...overridden },
  { name: 'dropUpload', method: 'DELETE', path: `${resumable}/:name`, ...dropUpload },
  {
    name: 'uploadOptions',
    id: 'getUploadOptions',
    method: 'GET',
    path: `${project}/options`,
    ...uploadOptions,
  },
  { name: 'planDirect', id: 'planUpload', method: 'POST', path: direct, ...planDirect },
  { name: 'directState', id: 'getPlannedUpload', method: 'GET', path: `${direct}/:name`, ...directState },
  {
    name: 'completeDirect',
    id: 'completeUpload',
    method: 'POST',
    path: `${direct}/:name/complete`,
    transfersBytes,
    ...completeDirect,
  },
  { name: 'dropDirect', id: 'dropPlannedUpload', method: 'DELETE', path: `${direct}/:name`, ...dropDirect },
  {
    name: 'directPart',
    id: 'putPart',
    method: 'PUT',
    path: `${direct}/:name/:number`,
    transfersBytes,
    ...directPart,
  },
  { name: 'deleteFiles', method: 'POST', path: `${project}/_delete_`, ...deleteFiles },
  { name: 'listFiles', method: 'GET', path: project, compressed: true, ...listFiles },
  { name: 'link', id: 'createLink', method: 'POST', path: `${file}/link`, ...link },
  { name: 'restoreFile', method: 'POST', path: `${file}/restore`, ...restoreFile },
  { name: 'download', method: 'GET', path: file, transfersBytes, ...download },
  { name: 'putFile', method: 'PUT', path: file, transfersBytes, ...putFile },
  { name: 'deleteFile', method: 'DELETE', path: file, ...deleteFile },
];
