import type { Handler, Route } from '../common/http/http-types.ts';
import type { UploadLedger } from '../common/lifecycle/workers/upload-ledger.ts';
import { type DownloadDeps, downloadOperation } from './operations/download.ts';
import { type LinkDeps, linkOperation } from './operations/link.ts';
import { type UploadDeps, uploadOperation } from './operations/upload.ts';
import { type GatewayOperation, gatewayOperations } from './operations.ts';

export type GatewayDeps = UploadDeps & DownloadDeps & LinkDeps;

/** Every address of the upload gateway. */
export function gatewayRoutes(deps: GatewayDeps): Route[] {
  const handlers: Readonly<Record<GatewayOperation['name'], Handler>> = {
    upload: endUploads(deps.uploads, uploadOperation(deps)),
    link: linkOperation(deps),
    download: downloadOperation(deps),
  };
  return gatewayOperations.map(({ name, ...route }) => ({ ...route, handler: handlers[name] }));
}

/** An upload is over when its answer is ready: by then it has cleaned up. */
function endUploads(uploads: UploadLedger, handler: Handler): Handler {
  return async (request) => {
    try {
      return await handler(request);
    } finally {
      uploads.end(request);
    }
  };
}
