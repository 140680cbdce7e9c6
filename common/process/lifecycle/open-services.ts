import { AccessTokens } from '#auth/access-tokens.ts';
import { type Authenticate, createAuthenticate } from '#auth/authenticate.ts';
import { FileSenders } from '#auth/file-senders.ts';
import { openLoginTokens } from '#auth/login-tokens.ts';
import { SessionStore } from '#auth/session-store.ts';
import { createSharedLoginStates, type SharedLoginStates } from '#auth/shared-login-states.ts';
import { createSharedTokens, type SharedTokens, unshared } from '#auth/shared-tokens.ts';
import { createStoredKeys } from '#auth/signing-keys.ts';
import { TokenCheck } from '#auth/token-check.ts';
import { createTokenGate } from '#auth/token-gate.ts';
import { AccountLinks } from '#catalogue/account-links.ts';
import { AccountRemovals } from '#catalogue/account-removals.ts';
import { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import { databaseName } from '#catalogue/database-name.ts';
import { type Deployment, openDeployment } from '#catalogue/deployment.ts';
import { Members } from '#catalogue/members.ts';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { Projects } from '#catalogue/projects.ts';
import { openDatabase } from '#catalogue/stores/open-database.ts';
import { explainError } from '#catalogue/stores/start-problem.ts';
import { UsageCounts } from '#catalogue/usage-counts.ts';
import { Users } from '#catalogue/users.ts';
import { openLimiters, type RequestLimiters } from '#coordination/rate-limits/open-limiters.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { ownLocks, redisLocks } from '#coordination/redis/process-lock.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { RedisInvalidation } from '#coordination/redis/redis-invalidation.ts';
import { type CountedDatabase, countStatements } from '#engine/count-statements.ts';
import type { Config } from '#kernel/config/read-config.ts';
import type { RedisConfig } from '#kernel/config/read-redis.ts';
import type { Log } from '#kernel/log/log.ts';
import { type Metrics, unmeasured } from '#kernel/telemetry/create-metrics.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import { prepareDataDirectory } from './prepare-data-directory.ts';

/** The stores and connections of every process of the service. */
export interface Services {
  readonly config: Config;
  readonly log: Log;
  readonly db: CountedDatabase;
  readonly database: string;
  readonly deployment: Deployment;
  readonly users: Users;
  readonly members: Members;
  readonly accountLinks: AccountLinks;
  /** Accounts that are deleted, or about to be. */
  readonly closed: ClosedAccounts;
  /** Removes what is left of them. */
  readonly removals: AccountRemovals;
  readonly tokens: AccessTokens;
  readonly tokenCheck: TokenCheck;
  /** Sessions of the dashboard. */
  readonly sessions: SessionStore;
  readonly limiters: RequestLimiters;
  readonly authenticate: Authenticate;
  /** Authenticates requests for files, by rules. */
  readonly fileSenders: FileSenders;
  /** Ends of logins, for other processes; undefined: there are none. */
  readonly loginStates: SharedLoginStates | undefined;
  /** Authenticates a request that was already counted. */
  readonly authenticateAgain: Authenticate;
  readonly projects: Projects;
  readonly usage: UsageCounts;
  /** undefined: this process keeps the state that processes would share. */
  readonly redis: RedisConnection | undefined;
  readonly invalidation: Invalidation;
  close(): Promise<void>;
}

/** Opens the stores of the configuration and migrates their tables. */
export async function openServices(
  config: Config,
  log: Log,
  { observeCall, cache }: Pick<Metrics, 'observeCall' | 'cache'> = unmeasured,
): Promise<Services> {
  await prepareDataDirectory(config.dataDir);
  const database = databaseName(config);
  const { db, deployment } = await openTables(config, log, observeCall).catch((error: unknown) => {
    throw config.clickhouse === undefined ? error : explainError(error, config.clickhouse);
  });
  const tokens = new AccessTokens({ db, database, deployment });
  const redis = config.redis === undefined ? undefined : await connectRedis(config.redis, log, observeCall);
  // the embedded engine serves one process
  const singleWriter = config.clickhouse === undefined;
  const { invalidation, shared } = openSharing(singleWriter ? undefined : redis, { db, database, log });
  const people = await openPeople({ config, db, database, log, redis, invalidation });
  const { users, members, closed } = people;
  const sessions = new SessionStore({ db, database, users, members });
  const gate = createTokenGate({ tokens, deployment, singleWriter });
  const counts = cache('tokens');
  const shares = { singleWriter, invalidation, shared };
  const tokenCheck = new TokenCheck({ tokens, sessions, log, ...shares, gate, closed, counts });
  const usage = new UsageCounts({ db, database, log, closed });
  usage.start();
  const projects = new Projects({
    db,
    database,
    maxProjects: config.maxProjects,
    singleWriter,
    invalidation,
  });
  const senders = openSenders({ config, db, database, projects, tokenCheck, redis, log });
  return {
    config,
    log,
    db,
    database,
    deployment,
    ...people,
    tokens,
    tokenCheck,
    sessions,
    ...senders,
    projects,
    usage,
    redis,
    invalidation,
    async close() {
      await closed.close();
      senders.limiters.address.close();
      senders.limiters.token.close();
      await tokenCheck.close();
      await usage.close();
      await invalidation.close();
      await redis?.close();
      await db.close();
    },
  };
}

/** Milliseconds after which every process of several knows of a closed account (closed-accounts.ts). */
const heardAfter = 2_000;

/** Accounts, their members, and what ends them. */
async function openPeople({
  config,
  db,
  database,
  log,
  redis,
  invalidation,
}: Pick<Services, 'config' | 'db' | 'database' | 'log' | 'redis' | 'invalidation'>): Promise<
  Pick<Services, 'users' | 'members' | 'accountLinks' | 'closed' | 'removals'>
> {
  const singleWriter = config.clickhouse === undefined;
  const closed = new ClosedAccounts({ db, database, log, singleWriter, invalidation });
  await closed.start();
  const locks = singleWriter || redis === undefined ? ownLocks() : redisLocks({ redis, log });
  const times = {
    heardAfter: singleWriter ? 0 : heardAfter,
    grace: Math.max(config.janitorGrace, heardAfter),
  };
  return {
    users: new Users({ db, database, closed }),
    members: new Members({ db, database }),
    accountLinks: new AccountLinks({ db, database }),
    closed,
    removals: new AccountRemovals({ db, database, closed, locks, log, ...times }),
  };
}

/** What recognizes and limits the senders of requests. */
function openSenders({
  config,
  db,
  database,
  projects,
  tokenCheck,
  redis,
  log,
}: Pick<Services, 'config' | 'db' | 'database' | 'projects' | 'tokenCheck' | 'redis' | 'log'>): Pick<
  Services,
  'limiters' | 'authenticate' | 'authenticateAgain' | 'fileSenders' | 'loginStates'
> {
  const limiters = openLimiters(config, { redis, log });
  const authenticate = createAuthenticate(tokenCheck, limiters.token);
  const loginTokens = openLoginTokens(config, createStoredKeys({ db, database }));
  const ttl = config.loginTokenTtl;
  const loginStates = redis === undefined ? undefined : createSharedLoginStates({ redis, ttl, log });
  return {
    limiters,
    authenticate,
    authenticateAgain: createAuthenticate(tokenCheck),
    fileSenders: new FileSenders({ authenticate, projects, loginTokens, loginStates }),
    loginStates,
  };
}

/** The engine, with its tables up to date. */
async function openTables(
  config: Config,
  log: Log,
  observe: ObserveCall,
): Promise<Pick<Services, 'db' | 'deployment'>> {
  const opened = await openDatabase(config, log);
  const db = countStatements(opened.db, observe);
  if (config.clickhouse === undefined) restoreFatalSignals();
  const database = databaseName(config);
  for (const { version, name } of await migrate(db, database, migrations)) {
    log.info({ version, name }, 'migrated');
  }
  const deployment = await openDeployment({ db, database });
  await opened.join(deployment.id, database);
  return { db, deployment };
}

/** What processes share to cache tokens; nothing without Redis. */
function openSharing(
  redis: RedisConnection | undefined,
  { db, database, log }: Pick<Services, 'db' | 'database' | 'log'>,
): { readonly invalidation: Invalidation; readonly shared: SharedTokens } {
  if (redis === undefined) return { invalidation: unannounced, shared: unshared };
  const invalidation = new RedisInvalidation({ redis, log });
  const keys = createStoredKeys({ db, database });
  return { invalidation, shared: createSharedTokens({ redis, invalidation, keys, log }) };
}

/** The client is only loaded if REDIS_URL is set. */
async function connectRedis(config: RedisConfig, log: Log, observe: ObserveCall): Promise<RedisConnection> {
  const { openRedis } = await import('#coordination/redis/open-redis.ts');
  return openRedis(config, log, undefined, observe);
}

/** Signals that the engine starts to catch. SIGTSTP is Ctrl-Z, which it treats like a fatal signal. */
const caught = ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS', 'SIGTSTP'] as const;

/**
 * Leaves fatal signals to the kernel, which ends the process at once. The embedded engine catches them for its own crash
 * report, and then hangs for minutes with the port open (docs/decisions/019-fatal-signals.md). Call it after the engine
 * has started.
 */
function restoreFatalSignals(): void {
  const nothing = (): void => {};
  for (const signal of caught) {
    // libuv installs its handler with the first listener, and restores SIG_DFL after the last
    process.on(signal, nothing);
    process.removeListener(signal, nothing);
  }
}
