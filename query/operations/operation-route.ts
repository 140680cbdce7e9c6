import type { Authenticate } from '#auth/authenticate.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { Config } from '#kernel/config/read-config.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Route } from '#server/http/http-types.ts';
import { readJson } from '#server/http/read-json.ts';
import { formatOfType } from '../imports/jobs/import-choices.ts';
import type { OpenSpace } from '../space/open-space.ts';
import type { Operation, OperationCall, QueryParts } from './operation.ts';
import { readNdjson } from './read-ndjson.ts';
import { Timing } from './timing.ts';

interface OperationRouteParts {
  readonly config: Pick<Config, 'maxRecordBytes' | 'maxRecordsBytes'>;
  readonly authenticate: Authenticate;
  readonly openSpace: OpenSpace;
  readonly usage: Pick<UsageCounts, 'add'>;
}

/** The route of an operation. Successful writes count as usage of the account. */
export function operationRoute(
  operation: Operation,
  { config, authenticate, openSpace, usage }: OperationRouteParts,
  deps: QueryParts,
): Route {
  const { name, family, method, path, run, body, bodyLimit = 'maxRecordBytes', takesLines } = operation;
  // the body of a read has conditions, not records
  const hasRecord = body !== undefined && operation.readsOnly !== true && operation.isRecord !== false;
  // a clear costs the same however many records it deletes
  const isCounted = family !== null && family !== 'find' && name !== 'clear';
  return {
    operation: name,
    method,
    path,
    compressed: family === 'find',
    handler(request) {
      let parsed: Promise<unknown> | undefined;
      let opened: RecordSpace | Promise<RecordSpace> | undefined;
      let written: number | undefined;
      const timing = request.header('sluice-timing') === 'true' ? new Timing() : null;
      const call: OperationCall = {
        request,
        timing,
        async authenticate() {
          return authenticate(request);
        },
        open(reference) {
          opened = openSpace(request, operation, reference, hasRecord ? call.body : undefined);
          return opened;
        },
        body() {
          if (parsed !== undefined) return parsed;
          timing?.begin();
          const isLines = takesLines === true && formatOfType(request.header('content-type')) === 'ndjson';
          parsed = (isLines ? readNdjson : readJson)(request, config[bodyLimit]);
          if (timing !== null) parsed = parsed.finally(() => timing.add('parse'));
          return parsed;
        },
        wrote(records) {
          written = records;
        },
      };
      const answered = run(call, deps);
      if (!isCounted) return answered;
      return Promise.resolve(answered).then(async (answer) => {
        // undefined: the space does not exist
        const space = await Promise.resolve(opened).catch(() => undefined);
        if (space === undefined || answer.headers?.['idempotent-replayed'] !== undefined) return answer;
        // an array has several records, any other body has one
        const records = family === 'delete' || written !== undefined ? null : await parsed;
        const recordsWritten = written ?? (Array.isArray(records) ? records.length : 1);
        usage.add(space.ownerId, request.params.project ?? '', { recordsWritten });
        return answer;
      });
    },
  };
}
