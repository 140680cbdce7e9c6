import type { Handler, Route } from '../common/http/http-types.ts';
import { type DownloadDeps, downloadOperation } from './operations/download.ts';
import { type LinkDeps, linkOperation } from './operations/link.ts';
import { type UploadDeps, uploadOperation } from './operations/upload.ts';
import { type GatewayOperation, gatewayOperations } from './operations.ts';

export type GatewayDeps = UploadDeps & DownloadDeps & LinkDeps;

/** Every address of the upload gateway. */
export function gatewayRoutes(deps: GatewayDeps): Route[] {
  const handlers: Readonly<Record<GatewayOperation['name'], Handler>> = {
    upload: uploadOperation(deps),
    link: linkOperation(deps),
    download: downloadOperation(deps),
  };
  return gatewayOperations.map(({ name, ...route }) => ({
    ...route,
    operation: name,
    handler: handlers[name],
  }));
}
