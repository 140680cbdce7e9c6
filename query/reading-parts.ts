import { openLoginTokens } from '#auth/login-tokens.ts';
import { createStoredKeys } from '#auth/signing-keys.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { Candidates } from '#records/candidates.ts';
import { HashChecks } from '#records/hash-checks.ts';
import { RecordExports } from '#records/record-exports.ts';
import { RecordQuota } from '#records/record-quota.ts';
import { RecordReader } from '#records/record-reader.ts';
import { cacheShares } from '#records/store/cache-shares.ts';
import { StructureCache } from './input/structure-cache.ts';
import { createAuthorize } from './login/authorize.ts';
import { BoundSpaces } from './login/bound-spaces.ts';
import { scopes } from './operations.ts';
import type { QueryEnvironment } from './query-environment.ts';
import { InFlightWrites } from './space/in-flight-writes.ts';
import { countRecordBytes } from './space/space-figures.ts';
import { Spaces } from './space/spaces.ts';

/** Share of structures that requests bring; a space with its stored structure takes less. */
const structureShare = 5 / 8;

/** What `readingParts` opens. */
export type ReadingParts = ReturnType<typeof readingParts>;

/** The parts that reads and writes share: the reader of records, spaces, the quota, and who may do what in them. */
export function readingParts(environment: QueryEnvironment) {
  const { config, store, catalogue, database, hasher, metrics, log } = environment;
  const { descriptions } = cacheShares(config.recordCacheBytes);
  const structures = new StructureCache({
    scopes,
    bytes: descriptions * structureShare,
    counts: metrics.cache('structures'),
  });
  const newId = createUuidV7();
  const inFlight = new InFlightWrites();
  const keys = createStoredKeys({ db: store.db, database });
  const loginTokens = openLoginTokens(config, keys);
  const cost = { maxRows: config.readMaxRows, timeout: config.readLimits.timeout };
  const checks = new HashChecks({ hasher, throttle: environment.throttle });
  const candidates = new Candidates({ store, checks, cost });
  const reads = { store, candidates, cost, count: metrics.reads() };
  const reader = new RecordReader(reads);
  const exports = new RecordExports(reads);
  const spaces = new Spaces({
    store,
    catalogue,
    projects: environment.projects,
    hasher,
    newId,
    writes: inFlight,
    maxSpaces: config.maxSpaces,
    knownBytes: Math.floor(descriptions * (1 - structureShare)),
    log,
    invalidation: environment.invalidation,
    freshness: environment.freshness,
    metrics,
    fileLinks: environment.fileLinks,
  });
  const authorize = createAuthorize({ loginTokens, store, spaces });
  const boundSpaces = new BoundSpaces({ loginTokens, store, reader, spaces, now: environment.now });
  const quota = openQuota(environment);
  return {
    structures,
    newId,
    inFlight,
    keys,
    loginTokens,
    candidates,
    reader,
    exports,
    spaces,
    authorize,
    boundSpaces,
    quota,
  };
}

/** Null: accounts may store any number of bytes. */
function openQuota({ config, store, catalogue, log }: QueryEnvironment): RecordQuota | null {
  const { maxStoredRecordBytes: limit } = config;
  if (limit === 0) return null;
  const count = (account: string, signal: AbortSignal): Promise<number> =>
    countRecordBytes({ store, catalogue }, account, signal);
  return new RecordQuota({ limit, count, log });
}
