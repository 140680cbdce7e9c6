import type { UsageCounts } from '../../common/metadata/usage-counts.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Operation, RunOperation } from './operation.ts';

/** Counts what an operation writes of an account's records, once it has succeeded: all of an array, otherwise one. */
export function countedWrites(
  { name, family, run }: Operation,
  usage: Pick<UsageCounts, 'add'>,
): RunOperation {
  // how many a clear deletes says nothing of what it takes
  if (family === null || family === 'find' || name === 'clear') return run;
  return async (call, deps) => {
    let opened: RecordSpace | undefined;
    let counted: number | undefined;
    const answer = await run(
      {
        ...call,
        // methods: see asked-conditions.ts
        async open(reference) {
          opened = await call.open(reference);
          return opened;
        },
        wrote(records) {
          counted = records;
        },
      },
      deps,
    );
    if (opened !== undefined && answer.headers?.['idempotent-replayed'] === undefined) {
      const written = family === 'delete' || counted !== undefined ? null : await call.body();
      const recordsWritten = counted ?? (Array.isArray(written) ? written.length : 1);
      usage.add(opened.ownerId, call.request.params.project ?? '', { recordsWritten });
    }
    return answer;
  };
}
