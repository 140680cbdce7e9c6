import type { Authenticate } from '../common/auth/authenticate.ts';
import { createLoginTokens } from '../common/auth/login-tokens.ts';
import { createConfiguredKeys, createStoredKeys } from '../common/auth/signing-keys.ts';
import type { Database } from '../common/clickhouse/database.ts';
import { createGroupCommit } from '../common/clickhouse/group-commit.ts';
import { TableTurns } from '../common/clickhouse/table-turns.ts';
import type { Config } from '../common/config/read-config.ts';
import type { Projects } from '../common/control/projects.ts';
import type { Route } from '../common/http/http-types.ts';
import type { Push } from '../common/push/push.ts';
import { createStructureCache } from './input/structure-cache.ts';
import { createAuthorize } from './login/authorize.ts';
import { LoginThrottle, loginThrottleDefaults } from './login/login-throttle.ts';
import type { SharedFailures } from './login/shared-failures.ts';
import { createVerifyCredentials } from './login/verify-credentials.ts';
import { clear } from './operations/clear.ts';
import { deleteOneById } from './operations/delete-one-by-id.ts';
import { find } from './operations/find.ts';
import { findOne } from './operations/find-one.ts';
import { getInferredStructure } from './operations/get-inferred-structure.ts';
import { getKeys } from './operations/get-keys.ts';
import { getTokenOwner } from './operations/get-token-owner.ts';
import { insert } from './operations/insert.ts';
import { insertOne } from './operations/insert-one.ts';
import { login } from './operations/login.ts';
import { search } from './operations/search.ts';
import { setKeys } from './operations/set-keys.ts';
import { setInferredStructure, setStructure } from './operations/set-structure.ts';
import { updateOne } from './operations/update-one.ts';
import { updateOneById } from './operations/update-one-by-id.ts';
import { createChangeCommit } from './records/change-commit.ts';
import { createHasher, type Hasher } from './records/hasher.ts';
import { createLocalVersions } from './records/local-versions.ts';
import { createPatchFolder } from './records/patch-folder.ts';
import { createRecordChanges } from './records/record-changes.ts';
import type { SpaceVersions } from './records/space-versions.ts';
import { createRecordStore } from './records/store-records.ts';
import { createUuidV7 } from './records/uuid-v7.ts';
import { InFlightWrites } from './space/in-flight-writes.ts';
import { createOpenRecordSpace } from './space/open-space.ts';
import { createSpaces, type Freshness } from './space/resolve-space.ts';
import { createSpaceCatalogue } from './space/space-catalogue.ts';
import { createLocalReservations, type UniqueReservations } from './unique/unique-reservations.ts';

export interface QueryDeps {
  readonly config: Pick<
    Config,
    'maxRecordBytes' | 'maxRecordsBytes' | 'allowClearAllSpaces' | 'loginTokenSecret' | 'loginTokenTtl'
  >;
  readonly db: Database;
  /** Name of the database that holds all tables. */
  readonly database: string;
  readonly projects: Projects;
  readonly authenticate: Authenticate;
  /** Absent: argon2id. */
  readonly hasher?: Hasher;
  /** Absent: in this process. */
  readonly reservations?: UniqueReservations;
  /** Absent: how long structures are kept is as documented. */
  readonly freshness?: Freshness;
  /** Absent: nobody tells of structures that other processes change. */
  readonly push?: Push | undefined;
  /** Absent: in this process. */
  readonly versions?: SpaceVersions;
  /** Absent: failed logins are counted in this process. */
  readonly sharedFailures?: SharedFailures | undefined;
}

/** Bytes of rows: what waits to be stored in this process, and what is gathered for one INSERT. */
const pendingLimit = 128 * 1024 * 1024;
const insertLimit = 16 * 1024 * 1024;

/** Characters of changes that wait in this process, and characters and records of one UPDATE. */
const changeLimits = { pendingLimit: 64 * 1024 * 1024, statementLimit: 4 * 1024 * 1024, recordLimit: 200 };
/** In a cluster a statement lies in Keeper until all servers made it, and ZooKeeper takes a megabyte at most. */
const clusterStatementLimit = 256 * 1024;
/** A merge takes a core for some seconds with so many rows. */
const folding = { delay: 2000, restShare: 20, largest: 10_000_000 };

function limitsOf({ cluster }: Database): typeof changeLimits {
  return cluster === undefined ? changeLimits : { ...changeLimits, statementLimit: clusterStatementLimit };
}

/** The routes of the query service. */
export function queryRoutes(deps: QueryDeps): Route[] {
  const { config, db } = deps;
  const catalogue = createSpaceCatalogue(deps);
  const structures = createStructureCache();
  const hasher = deps.hasher ?? createHasher();
  const newId = createUuidV7();
  const writes = new InFlightWrites();
  const versions = deps.versions ?? createLocalVersions();
  const spaces = createSpaces({ ...deps, catalogue, hasher, newId, writes, versions });
  const loginTokens = createLoginTokens({
    keys:
      config.loginTokenSecret === undefined
        ? createStoredKeys(deps)
        : createConfiguredKeys(config.loginTokenSecret),
    ttl: config.loginTokenTtl,
  });
  const openSpace = createOpenRecordSpace({
    ...deps,
    authorize: createAuthorize({ db, spaces, loginTokens }),
    structures,
    spaces,
    catalogue,
    writes,
    allowClear: config.allowClearAllSpaces,
    versions,
  });
  const reservations = deps.reservations ?? createLocalReservations();
  const turns = new TableTurns();
  const records = createRecordStore({
    db,
    hasher,
    reservations,
    groupCommit: createGroupCommit({ db, pendingLimit, insertLimit, turns }),
    newId,
    versions,
  });
  const changes = createRecordChanges({
    db,
    hasher,
    reservations,
    changeCommit: createChangeCommit({ db, ...limitsOf(db), turns }),
    folder: createPatchFolder({ db, ...folding }),
    versions,
  });
  const reading = { db, hasher, openSpace };
  const writing = { records, openSpace };
  const changing = { changes, openSpace, bodyLimit: config.maxRecordBytes };
  const structuring = { openSpace, structures, bodyLimit: config.maxRecordBytes };
  const routes: Route[] = [
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
    { method: 'GET', path: '/:project/:space/search', handler: search(reading) },
    { method: 'POST', path: '/:project/:space/update', handler: updateOne({ ...changing, ...reading }) },
    { method: 'POST', path: '/:project/:space/update-by-id', handler: updateOneById(changing) },
    { method: 'DELETE', path: '/:project/:space', handler: deleteOneById(changing) },
    {
      method: 'DELETE',
      path: '/:project/:space/clear-records',
      handler: clear({ ...reading, turns, versions }),
    },
    {
      method: 'POST',
      path: '/:project/:space/set-key-values',
      handler: setKeys({ ...changing, ...writing, db }),
    },
    { method: 'GET', path: '/:project/:space/get-key-values', handler: getKeys(reading) },
    {
      method: 'GET',
      path: '/:project/:space/get-token-owner',
      handler: getTokenOwner({ ...reading, loginTokens }),
    },
    {
      method: 'POST',
      path: '/:project/function/login',
      handler: login({
        ...structuring,
        verifyCredentials: createVerifyCredentials(reading),
        throttle: new LoginThrottle(loginThrottleDefaults, { shared: deps.sharedFailures }),
        loginTokens,
      }),
    },
    { method: 'POST', path: '/:project/:space/set-structure', handler: setStructure(structuring) },
    {
      method: 'POST',
      path: '/:project/:space/set-inferred-structure',
      handler: setInferredStructure(structuring),
    },
    {
      method: 'POST',
      path: '/:project/:space/get-inferred-structure',
      handler: getInferredStructure({ ...deps, bodyLimit: config.maxRecordBytes }),
    },
  ];
  return routes.map((route) => ({ ...route, handler: writes.tracked(route.handler) }));
}
