import type { IncomingMessage } from 'node:http';
import { splitUrl } from './canonical-request.ts';
import type { FaultAction, FaultRules } from './fault-rules.ts';
import type { Operation, S3Call } from './operation.ts';
import { Query } from './query.ts';
import type { RequestLog } from './request-log.ts';
import { findRoute, readTarget } from './router.ts';

/** A request as it was understood: logged, and with the faults that strike it. */
export interface ReadCall {
  readonly handler: Operation;
  readonly call: S3Call;
  readonly faults: readonly FaultAction[];
  /** Notes in the log how it ended. */
  readonly finish: ReturnType<RequestLog['add']>;
}

/** Throws an S3Error when it is none of the stub's operations; that is logged too. */
export function readCall(
  req: IncomingMessage,
  { faults, log }: { faults: FaultRules; log: RequestLog },
): ReadCall {
  let routed: { handler: Operation; call: S3Call };
  try {
    routed = routeCall(req);
  } catch (error) {
    log.add({ operation: null, key: '', uploadId: undefined, partNumber: undefined, faults: [] })(400, null);
    throw error;
  }
  const { call } = routed;
  const partNumber = call.query.get('partNumber');
  const target = {
    operation: call.operation,
    key: call.key,
    partNumber: partNumber === undefined ? undefined : Number(partNumber),
  };
  const struck = faults.take(target);
  const finish = log.add({
    ...target,
    uploadId: call.query.get('uploadId'),
    faults: struck.map((action) => action.kind),
  });
  return { ...routed, faults: struck, finish };
}

function routeCall(req: IncomingMessage): { handler: Operation; call: S3Call } {
  const { path, query: rawQuery } = splitUrl(req.url ?? '/');
  const query = new Query(rawQuery);
  const target = readTarget(path);
  const { operation, handler } = findRoute(req.method ?? '', target, query);
  return {
    handler,
    call: {
      operation,
      ...target,
      query,
      header: (name) => req.headersDistinct[name]?.join(', '),
      headerNames: Object.keys(req.headersDistinct),
    },
  };
}
