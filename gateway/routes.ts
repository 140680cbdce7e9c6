import type { Handler, Route } from '../common/http/http-types.ts';
import type { UploadLedger } from '../common/lifecycle/workers/upload-ledger.ts';
import { type DownloadDeps, downloadOperation } from './operations/download.ts';
import { type LinkDeps, linkOperation } from './operations/link.ts';
import { type UploadDeps, uploadOperation } from './operations/upload.ts';

export type GatewayDeps = UploadDeps & DownloadDeps & LinkDeps;

/** Every address of the upload gateway. */
export function gatewayRoutes(deps: GatewayDeps): Route[] {
  return [
    {
      operation: 'upload',
      method: 'POST',
      path: '/_f_/:project/upload',
      handler: endUploads(deps.uploads, uploadOperation(deps)),
      transfersBytes: true,
    },
    { operation: 'link', method: 'POST', path: '/_f_/:project/:name/link', handler: linkOperation(deps) },
    {
      operation: 'download',
      method: 'GET',
      path: '/_f_/:project/:name',
      handler: downloadOperation(deps),
      transfersBytes: true,
    },
  ];
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
