import type { Route } from '../common/http/http-types.ts';
import type { ApiOperation } from '../common/openapi/api-operation.ts';
import { descriptions } from './describe-operations.ts';

/** A line of the table of operations. */
export interface GatewayOperation extends Pick<Route, 'method' | 'path' | 'transfersBytes'> {
  readonly name: keyof typeof descriptions;
  readonly api: ApiOperation;
}

/** All operations of the gateway: routes, and what the description says of them, follow from this table. */
export const gatewayOperations: readonly GatewayOperation[] = [
  {
    name: 'upload',
    method: 'POST',
    path: '/_f_/:project/upload',
    transfersBytes: true,
    api: descriptions.upload,
  },
  {
    name: 'uploadLink',
    method: 'POST',
    path: '/_f_/:project/upload-link',
    api: descriptions.uploadLink,
  },
  {
    name: 'createUpload',
    method: 'POST',
    path: '/_f_/:project/resumable',
    transfersBytes: true,
    api: descriptions.createUpload,
  },
  {
    name: 'uploadState',
    method: 'GET',
    path: '/_f_/:project/resumable/:name',
    api: descriptions.uploadState,
  },
  {
    name: 'append',
    method: 'PATCH',
    path: '/_f_/:project/resumable/:name',
    transfersBytes: true,
    api: descriptions.append,
  },
  {
    name: 'dropUpload',
    method: 'DELETE',
    path: '/_f_/:project/resumable/:name',
    api: descriptions.dropUpload,
  },
  { name: 'deleteFiles', method: 'POST', path: '/_f_/:project/_delete_', api: descriptions.deleteFiles },
  { name: 'listFiles', method: 'GET', path: '/_f_/:project', api: descriptions.listFiles },
  { name: 'link', method: 'POST', path: '/_f_/:project/:name/link', api: descriptions.link },
  {
    name: 'download',
    method: 'GET',
    path: '/_f_/:project/:name',
    transfersBytes: true,
    api: descriptions.download,
  },
  {
    name: 'putFile',
    method: 'PUT',
    path: '/_f_/:project/:name',
    transfersBytes: true,
    api: descriptions.putFile,
  },
  { name: 'deleteFile', method: 'DELETE', path: '/_f_/:project/:name', api: descriptions.deleteFile },
];
