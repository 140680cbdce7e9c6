import { join } from 'node:path';
import { createKeyedHash } from '#auth/signing-keys.ts';
import type { RemovePart } from '#catalogue/account-removals.ts';
import { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { createFindAddress } from '#kernel/http-client/network-guard.ts';
import type { Route } from '#server/http/http-types.ts';
import { FileSweep } from './file-fields/file-sweep.ts';
import { NamedFiles } from './file-fields/named-files.ts';
import { OpenUses } from './file-fields/open-uses.ts';
import { fileRoutes } from './files/file-routes.ts';
import { FileTables } from './files/file-tables.ts';
import { Imports } from './imports/jobs/imports.ts';
import { jobRoutes } from './imports/jobs/job-routes.ts';
import { LiveAddresses } from './live/live-addresses.ts';
import { LiveRequest } from './live/live-request.ts';
import { liveAnswer, liveRoute } from './live/live-route.ts';
import { LiveStreams } from './live/live-streams.ts';
import type { FileRulesParts } from './login/project-file-rules.ts';
import type { SpaceRulesParts } from './login/space-rules.ts';
import { oidcParts, oidcRoutes } from './oidc-parts.ts';
import { describeOperation } from './openapi/describe-operation.ts';
import { describeSpace } from './openapi/space-document.ts';
import { anySpace } from './openapi/space-model.ts';
import type { Operation, QueryParts } from './operations/operation.ts';
import { operations, scopes } from './operations.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { removeRecords } from './projects/remove-records.ts';
import type { QueryEnvironment } from './query-environment.ts';
import { type ReadingParts, readingParts } from './reading-parts.ts';
import { recordRoutes } from './record-routes.ts';
import { createOpenSpace } from './space/open-space.ts';
import { usageRoutes } from './usage/usage-route.ts';
import { writingParts } from './writing-parts.ts';

/** Uses of files by records, and what works them off. */
export interface FileFields {
  readonly uses: FileUses;
  readonly named: NamedFiles;
  readonly sweep: FileSweep;
}

function operationNamed(name: string): Operation {
  return operations.find((operation) => operation.name === name) as Operation;
}

/** The routes of the query service. */
export function queryRoutes(environment: QueryEnvironment): Route[] {
  return queryParts(environment).routes;
}

interface OpenedParts {
  readonly routes: Route[];
  readonly imports: Imports;
  readonly tables: FileTables;
  readonly live: LiveStreams;
  readonly fileFields: FileFields;
  /** Removes what is here of a deleted account. */
  readonly remove: RemovePart;
}

/** The same, with the parts that have to be closed. */
export function queryParts(environment: QueryEnvironment): OpenedParts {
  const { config, store, database, catalogue, projects, authenticate, authenticateAgain } = environment;
  const { events, fileSenders, files, hasher, log, metrics, now, reservations, usage } = environment;
  const reading = readingParts(environment);
  const { structures, newId, inFlight, keys, loginTokens, candidates, reader, exports } = reading;
  const { spaces, authorize, boundSpaces, quota } = reading;
  fileSenders.askForUsers(boundSpaces.hasUser);
  const fileFields = openFileFields(environment, reading);
  const recordFiles = fileFields.named;
  const { records, changes, signUps } = writingParts(environment, reading, recordFiles);
  const opening = {
    store,
    authenticate,
    authorize,
    bind: boundSpaces.bind,
    structures,
    spaces,
    catalogue,
    writes: inFlight,
    recordFiles,
    clear: operationNamed('clear'),
    allowClear: config.allowClearAllSpaces,
  };
  const openSpace = createOpenSpace(opening);
  const live = new LiveStreams({
    store,
    reader,
    authenticate: authenticateAgain,
    openSpace: createOpenSpace({ ...opening, authenticate: authenticateAgain }),
    config,
    log,
    metrics,
  });
  const liveFinds = { live, openSpace, structures, operation: operationNamed('find') };
  const addresses = new LiveAddresses({ keyOf: createKeyedHash(keys, 'sluice live address 1'), now });
  const imports = new Imports({
    store,
    db: store.db,
    database,
    reader,
    records,
    changes,
    recordFiles,
    spaces,
    writes: inFlight,
    structures,
    reservations,
    hasher,
    quota,
    usage,
    log,
    newId,
    now,
    folder: join(config.dataDir, 'imports'),
    mostBytes: config.maxImportBytes,
    largestRecord: config.maxRecordBytes,
  });
  const { oidc, oidcSettings } = oidcParts(environment, keys);
  const parts: QueryParts = {
    oidc,
    spaces,
    authorize,
    bind: boundSpaces.bind,
    store,
    reader,
    exports,
    records,
    changes,
    recordFiles,
    imports,
    files,
    structures,
    loginTokens,
    candidates,
    signUps,
    events,
    live: (request, asked) => liveAnswer(liveFinds, request, { request: new LiveRequest(request), asked }),
    addresses,
    describeSpace: (structure) => describeSpace(operations, structure, config.publicUrl ?? '/'),
  };
  const dropping = { store, catalogue, projects, spaces, writes: inFlight, recordFiles, log };
  const tables = new FileTables({ files, limits: config.readLimits, log });
  const liveOperation = describeOperation(operationNamed('liveAddress'), anySpace(scopes));
  const routes = [
    ...recordRoutes({ config, authenticate, openSpace, usage }, parts, inFlight),
    ...projectRoutes({
      ...{ ...dropping, ...warningFacts(environment) },
      ...{ authenticate, boundSpaces, reader, oidcSettings, imagePresets: config.imagePresets },
    }),
    ...oidcRoutes(oidc),
    liveRoute({ ...liveFinds, addresses }, liveOperation),
    ...jobRoutes({ authenticate, imports }),
    ...usageRoutes({ authenticate, usage }),
    ...fileRoutes({ authenticate: fileSenders.authenticate, projects, files, tables, config }),
  ];
  const remove = removeRecords({ ...dropping, imports, oidcSettings, fileUses: fileFields.uses });
  return { routes, imports, tables, live, fileFields, remove };
}

/** What warnings about rules are drawn from. */
function warningFacts({
  config,
  events,
}: QueryEnvironment): Pick<SpaceRulesParts, 'mailSettings'> & Pick<FileRulesParts, 'hasPublicLinks'> {
  const findAddress = createFindAddress(config.webhookPrivateNetworks);
  return {
    mailSettings: { hasSmtp: events.hasSmtp, findAddress },
    hasPublicLinks: config.fileLinks === 'public',
  };
}

/** What FILE fields need. */
function openFileFields(
  { store, database, projects, log }: QueryEnvironment,
  { spaces }: Pick<ReadingParts, 'spaces'>,
): FileFields {
  const uses = new FileUses({ db: store.db, database });
  const marks = new FileMarks({ db: store.db, database });
  const open = new OpenUses();
  const deleteCondemned = (): void => projects.files.deleteCondemned?.();
  const sweep = new FileSweep({ uses, marks, store, spaces, open, deleteCondemned, log });
  return { uses, named: new NamedFiles({ uses, marks, projects, open, sweep, log }), sweep };
}
