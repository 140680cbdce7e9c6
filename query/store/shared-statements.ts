import type { Database } from '../../common/clickhouse/database.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import { RecordsTable } from '../sql/records-table.ts';
import { FindBatches } from './find-batches.ts';
import { RecordLookups } from './record-lookups.ts';

/** What a store needs for the reads that requests share. */
export function sharedStatements(args: {
  readonly db: Database;
  readonly database: string;
  readonly metrics?: Pick<Metrics, 'batch'> | undefined;
}) {
  const { db, database, metrics } = args;
  const engine = { db, table: new RecordsTable(db, database), metrics };
  return { ...engine, lookups: new RecordLookups(engine), batches: new FindBatches(engine) };
}
