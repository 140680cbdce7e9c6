import type { Route } from '#server/http/http-types.ts';
import type { ApiOperation } from '#server/openapi/api-operation.ts';
import { underFileRules } from '#server/openapi/file-rules.ts';
import { UploadAccess, type UploadAccessDeps } from './access/upload-access.ts';
import { gatewayOperations, type OperationDeps } from './operations.ts';
import { draftLimit } from './resumable/draft-headers.ts';
import { tusOptions } from './resumable/tus-headers.ts';

export type GatewayDeps = Omit<OperationDeps, 'access'> & UploadAccessDeps;

/** Every address of the upload gateway. */
export function gatewayRoutes(gatewayDeps: GatewayDeps): Route[] {
  const deps = { ...gatewayDeps, access: new UploadAccess(gatewayDeps) };
  return gatewayOperations.map(
    ({
      name,
      id = name,
      method,
      path,
      transfersBytes = false,
      compressed = false,
      handler,
      ...description
    }) => ({
      operation: name,
      method,
      path,
      transfersBytes,
      compressed,
      handler: handler(deps),
      api: described({ id, tag: 'Files', ...description }),
      ...(path.includes('/resumable')
        ? { optionsHeaders: { ...tusOptions(deps.maxUploadBytes), ...draftLimit(deps.maxUploadBytes) } }
        : {}),
    }),
  );
}

/** Rules of files bind every operation that asks who sends the request. */
function described(operation: ApiOperation): ApiOperation {
  return operation.access === 'none' ? operation : underFileRules(operation);
}
