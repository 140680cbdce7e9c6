import type { Database } from '../../common/clickhouse/database.ts';
import { SharedStore } from '../../query/store-shared/shared-store.ts';
import { noVersions } from '../../query/store-shared/space-versions.ts';

/** The records as a process has them that shares the engine, and keeps nothing. */
export function plainStore(db: Database, database = 'sluice'): SharedStore {
  return new SharedStore({ db, database, versions: noVersions, cacheBytes: 0 });
}
