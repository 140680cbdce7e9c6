import type { Authenticate } from '../common/auth/authenticate.ts';
import type { Database } from '../common/clickhouse/database.ts';
import { createGroupCommit } from '../common/clickhouse/group-commit.ts';
import type { Config } from '../common/config/read-config.ts';
import type { Projects } from '../common/control/projects.ts';
import type { Route } from '../common/http/http-types.ts';
import { createHasher } from './hashed/hasher.ts';
import { createOpenRecordSpace } from './open-record-space.ts';
import { find } from './operations/find.ts';
import { findOne } from './operations/find-one.ts';
import { insert } from './operations/insert.ts';
import { insertOne } from './operations/insert-one.ts';
import { createSpaces } from './space/resolve-space.ts';
import { createSpaceCatalogue } from './space/space-catalogue.ts';
import { createStructureCache } from './structure/structure-cache.ts';
import { createRecordStore } from './write/store-records.ts';
import { createLocalReservations } from './write/unique-reservations.ts';
import { createUuidV7 } from './write/uuid-v7.ts';

export interface QueryDeps {
  readonly config: Pick<Config, 'maxRecordBytes' | 'maxRecordsBytes' | 'allowClearAllSpaces'>;
  readonly db: Database;
  /** Name of the database that holds all tables. */
  readonly database: string;
  readonly projects: Projects;
  readonly authenticate: Authenticate;
}

/** Bytes of rows: what waits to be stored in this process, and what is gathered for one INSERT. */
const pendingLimit = 128 * 1024 * 1024;
const insertLimit = 16 * 1024 * 1024;

/** The routes of the query service. */
export function queryRoutes(deps: QueryDeps): Route[] {
  const { config, db } = deps;
  const catalogue = createSpaceCatalogue(deps);
  const openSpace = createOpenRecordSpace({
    ...deps,
    catalogue,
    structures: createStructureCache(),
    spaces: createSpaces({ ...deps, catalogue }),
    allowClear: config.allowClearAllSpaces,
  });
  const hasher = createHasher();
  const records = createRecordStore({
    db,
    hasher,
    reservations: createLocalReservations(),
    groupCommit: createGroupCommit({ db, pendingLimit, insertLimit }),
    newId: createUuidV7(),
  });
  const reading = { db, hasher, openSpace };
  const writing = { records, openSpace };
  return [
    { method: 'GET', path: '/:project/:space', handler: find(reading) },
    { method: 'GET', path: '/:project/:space/_single_', handler: findOne(reading) },
    {
      method: 'POST',
      path: '/:project/:space',
      handler: insert({ ...writing, bodyLimit: config.maxRecordsBytes }),
    },
    {
      method: 'POST',
      path: '/:project/:space/_single_',
      handler: insertOne({ ...writing, bodyLimit: config.maxRecordBytes }),
    },
  ];
}
