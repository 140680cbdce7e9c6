import type { Authenticate } from '../../common/auth/authenticate.ts';
import type { Config } from '../../common/config/read-config.ts';
import type { Route } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import type { UsageCounts } from '../../common/metadata/usage-counts.ts';
import type { OpenSpace } from '../space/open-space.ts';
import { countedWrites } from './counted-writes.ts';
import type { Operation, OperationCall, OperationDeps } from './operation.ts';
import { timingOf } from './timing.ts';

interface OperationRouteDeps {
  readonly config: Pick<Config, 'maxRecordBytes' | 'maxRecordsBytes'>;
  readonly authenticate: Authenticate;
  readonly openSpace: OpenSpace;
  readonly usage: Pick<UsageCounts, 'add'>;
}

/** How a request for an operation is answered. */
export function operationRoute(
  operation: Operation,
  { config, authenticate, openSpace, usage }: OperationRouteDeps,
  deps: OperationDeps,
): Route {
  const { name, method, path, bodyLimit = 'maxRecordBytes' } = operation;
  const run = countedWrites(operation, usage);
  // what only reads has no record in its body
  const { body, readsOnly, isRecord } = operation;
  const hasRecord = body !== undefined && readsOnly !== true && isRecord !== false;
  return {
    operation: name,
    method,
    path,
    handler(request) {
      let parsed: Promise<unknown> | undefined;
      const timing = timingOf(request);
      const call: OperationCall = {
        request,
        timing,
        async authenticate() {
          await authenticate(request);
        },
        open(reference) {
          return openSpace(request, operation, reference, hasRecord ? call.body : undefined);
        },
        body() {
          if (parsed !== undefined) return parsed;
          timing?.begin();
          parsed = readJson(request, config[bodyLimit]);
          if (timing !== null) parsed = parsed.finally(() => timing.add('parse'));
          return parsed;
        },
        wrote() {},
      };
      return run(call, deps);
    },
  };
}
