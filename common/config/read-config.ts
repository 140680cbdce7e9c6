import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';
import { type LogLevel, logLevels } from '../log/log-levels.ts';
import { fileSystemPartBytes } from '../part-sizes/file-system-part.ts';
import { largestPart } from '../part-sizes/s3-part-sizes.ts';
import { type ClickhouseConfig, readClickhouse } from './read-clickhouse.ts';
import {
  type RequestLimits,
  readLimitDefaults,
  readRecordQuota,
  readRequestLimits,
  readStorageQuota,
  type StorageQuota,
} from './read-limits.ts';
import { type RedisConfig, readRedis } from './read-redis.ts';
import { readS3, type S3Config } from './read-s3.ts';
import { readTracing, type TracingConfig } from './read-tracing.ts';
import { readMetricsToken, readWorkers } from './read-workers.ts';
import { usableMemory } from './usable-memory.ts';
import { EnvReader } from './validators.ts';

/** Everything that can be configured. Sizes are bytes, times are milliseconds. */
export interface Config {
  readonly host: string;
  /** 0 asks the system for a free port. */
  readonly port: number;
  /** Base address that clients see, without a trailing slash; undefined: made from the address listened on. */
  readonly publicUrl: string | undefined;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Peers whose X-Forwarded-* headers count. */
  readonly trustedProxies: BlockList | undefined;
  readonly corsOrigins: readonly string[];
  /** Names of this machine besides that of `publicUrl`. */
  readonly allowedHosts: readonly string[];
  /** Absolute path. */
  readonly dataDir: string;
  /** Who may make an account in the dashboard. `first`: the first person to do so, while there is no account. */
  readonly registration: 'first' | 'open' | 'closed';
  /** Base address of the API for the dashboard, without a trailing slash; undefined: its own. */
  readonly consoleApiUrl: string | undefined;
  readonly bootstrapToken: string | undefined;
  readonly maxUploadBytes: number;
  /** What all uploads of a process may hold in memory. */
  readonly uploadMemoryBytes: number;
  /** Bytes a second below which an upload is cut, when it holds memory for which others wait. */
  readonly uploadMinRate: number;
  readonly uploadMinRatePeriod: number;
  /** How long an upload may wait for memory before it gets 503. */
  readonly uploadWaitTimeout: number;
  /** An upload that was begun and not heard of for so long is aborted by the janitor. */
  readonly janitorStaleAfter: number;
  /** What is younger is left alone by the janitor. */
  readonly janitorGrace: number;
  readonly janitorInterval: number;
  /** undefined: the embedded engine, under `dataDir`. */
  readonly clickhouse: ClickhouseConfig | undefined;
  /** The size of the parts in which S3 gets an object, where a larger one is not needed. */
  readonly uploadPartBytes: number;
  /** undefined: files are stored under `dataDir`. */
  readonly s3: S3Config | undefined;
  /** What S3 does not do within this time, with all its retries, has failed. */
  readonly s3RequestTimeout: number;
  /** undefined: what processes must agree on is kept in this one. */
  readonly redis: RedisConfig | undefined;
  /** What results of reads may take that are kept; 0: none are. */
  readonly recordCacheBytes: number;
  /** How long the engine may work for one read of a client. */
  readonly readTimeout: number;
  /** Bytes a second below which the reader of a list is cut, when others wait for its place. */
  readonly readMinRate: number;
  readonly readMinRatePeriod: number;
  readonly maxRecordBytes: number;
  readonly maxRecordsBytes: number;
  /** Record spaces, and projects, that an account may have. */
  readonly maxSpaces: number;
  readonly maxProjects: number;
  /** Of an account, that are not complete. */
  readonly maxOpenUploads: number;
  /** Requests of one access token, and of one address. */
  readonly tokenLimits: RequestLimits;
  readonly addressLimits: RequestLimits;
  /** What an account may store of files. */
  readonly storageQuota: StorageQuota;
  /** Bytes of records that an account may store. 0: no limit. */
  readonly maxStoredRecordBytes: number;
  readonly publicFilesUrl: string | undefined;
  readonly fileLinks: 'public' | 'private';
  readonly allowClearAllSpaces: boolean;
  /** Signs login tokens; undefined: a key that the store keeps. Processes that share it accept each other's tokens. */
  readonly loginTokenSecret: string | undefined;
  /** How long a login token is good. */
  readonly loginTokenTtl: number;
  /** A body that brings nothing for this long is given up with 408. */
  readonly bodyIdleTimeout: number;
  /** A request other than a transfer of bytes is given up after this long. */
  readonly requestTimeout: number;
  /** How long requests are served after SIGTERM while `/readyz` says that no more should come. */
  readonly drainDelay: number;
  /** How long requests that run may go on after that. */
  readonly drainTimeout: number;
  /** Private networks that webhooks may call; undefined: none. */
  readonly webhookPrivateNetworks: BlockList | undefined;
  /** Processes on one port. */
  readonly workers: number;
  /** Who has it may read `/metrics`; undefined: only who asks from this machine itself. Never logged. */
  readonly metricsToken: string | undefined;
  readonly logLevel: LogLevel;
  /** undefined: nothing is traced. */
  readonly tracing: TracingConfig | undefined;
}

/** Thrown when the environment holds values that can't be used; `problems` names each of them. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

const tokenPattern = /^[A-Za-z0-9._~+/=-]{16,256}$/;
const gibibyte = 1024 ** 3;

/** Reads the configuration from environment variables. Throws a ConfigError that lists every bad one. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return readConfigFrom(new EnvReader(env));
}

/** The same of what a reader reads. */
export function readConfigFrom(reader: EnvReader): Config {
  const workers = readWorkers(reader);
  const config: Config = {
    host: reader.text('HOST') ?? '127.0.0.1',
    port: reader.integer('PORT', 8080, 0, 65535),
    publicUrl: reader.baseUrl('PUBLIC_URL'),
    tls: readTls(reader),
    trustedProxies: readNetworks(reader, 'TRUSTED_PROXIES'),
    corsOrigins: reader.list('CORS_ORIGINS', ['*'], originProblem),
    allowedHosts: reader.list('ALLOWED_HOSTS', [], hostProblem),
    dataDir: resolve(reader.text('DATA_DIR') ?? './data'),
    registration: reader.oneOf('REGISTRATION', 'first', ['first', 'open', 'closed']),
    consoleApiUrl: reader.baseUrl('CONSOLE_API_URL'),
    bootstrapToken: readBootstrapToken(reader),
    maxUploadBytes: reader.integer('MAX_UPLOAD_BYTES', 100_000_000, 1, 5 * 1024 * gibibyte),
    uploadMemoryBytes: reader.integer('UPLOAD_MEMORY_BYTES', 256 * 1024 ** 2, 1024 ** 2, 1024 * gibibyte),
    uploadMinRate: reader.integer('UPLOAD_MIN_RATE', 8192, 0, gibibyte),
    uploadMinRatePeriod: reader.integer('UPLOAD_MIN_RATE_PERIOD_MS', 5000, 1000, 3_600_000),
    uploadWaitTimeout: reader.integer('UPLOAD_WAIT_TIMEOUT_MS', 60_000, 100, 3_600_000),
    janitorStaleAfter: reader.integer('JANITOR_STALE_AFTER_MS', 86_400_000, 1000, 30 * 86_400_000),
    janitorGrace: reader.integer('JANITOR_GRACE_MS', 900_000, 1000, 86_400_000),
    janitorInterval: reader.integer('JANITOR_INTERVAL_MS', 3_600_000, 1000, 86_400_000),
    // the least that S3 takes for a part that is not the last
    uploadPartBytes: reader.integer('UPLOAD_PART_BYTES', 8 * 1024 ** 2, 5 * 1024 ** 2, gibibyte),
    clickhouse: readClickhouse(reader),
    s3: readS3(reader),
    s3RequestTimeout: reader.integer('S3_REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    redis: readRedis(reader),
    recordCacheBytes: reader.integer(
      'RECORD_CACHE_BYTES',
      cacheBytesFor(usableMemory() / Math.max(1, workers)),
      0,
      64 * gibibyte,
    ),
    readTimeout: reader.integer('READ_TIMEOUT_MS', readLimitDefaults.timeout, 100, 3_600_000),
    readMinRate: reader.integer('READ_MIN_RATE', readLimitDefaults.minRate, 0, gibibyte),
    readMinRatePeriod: reader.integer(
      'READ_MIN_RATE_PERIOD_MS',
      readLimitDefaults.minRatePeriod,
      100,
      3_600_000,
    ),
    maxRecordBytes: reader.integer('MAX_RECORD_BYTES', 1024 ** 2, 1024, gibibyte / 16),
    maxRecordsBytes: reader.integer('MAX_RECORDS_BYTES', 16 * 1024 ** 2, 1024, gibibyte / 4),
    maxSpaces: reader.integer('MAX_SPACES', 10_000, 1, 10_000_000),
    maxOpenUploads: reader.integer('MAX_OPEN_UPLOADS', 1000, 1, 100_000),
    maxProjects: reader.integer('MAX_PROJECTS', 1000, 1, 10_000_000),
    tokenLimits: readRequestLimits(reader, 'TOKEN'),
    addressLimits: readRequestLimits(reader, 'ADDRESS'),
    storageQuota: readStorageQuota(reader),
    maxStoredRecordBytes: readRecordQuota(reader),
    publicFilesUrl: reader.baseUrl('PUBLIC_FILES_URL'),
    fileLinks: reader.oneOf('FILE_LINKS', 'public', ['public', 'private']),
    allowClearAllSpaces: reader.boolean('ALLOW_CLEAR_ALL_SPACES', false),
    loginTokenSecret: readLoginTokenSecret(reader),
    loginTokenTtl: reader.integer('LOGIN_TOKEN_TTL_MS', 36 * 3_600_000, 1000, 366 * 86_400_000),
    bodyIdleTimeout: reader.integer('BODY_IDLE_TIMEOUT_MS', 60_000, 100, 3_600_000),
    requestTimeout: reader.integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    drainDelay: reader.integer('DRAIN_DELAY_MS', 0, 0, 600_000),
    drainTimeout: reader.integer('DRAIN_TIMEOUT_MS', 10_000, 0, 3_600_000),
    webhookPrivateNetworks: readNetworks(reader, 'WEBHOOK_PRIVATE_NETWORKS'),
    workers,
    metricsToken: readMetricsToken(reader),
    logLevel: reader.oneOf('LOG_LEVEL', 'info', logLevels),
    tracing: readTracing(reader),
  };
  checkUploadMemory(config, reader.problems);
  if (config.s3?.publicBucket === true && config.fileLinks === 'private') {
    reader.problems.push('S3_PUBLIC_BUCKET is true: files that all may read are not FILE_LINKS=private');
  }
  if (isIP(config.host) === 0 && config.host !== 'localhost') {
    reader.problems.push(`HOST is ${JSON.stringify(config.host)}: it should be an IP address or localhost`);
  }
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return Object.freeze(config);
}

/** A share of memory that leaves the rest to uploads, the engine and the system's own cache. @param memory of one process, in bytes */
export function cacheBytesFor(memory: number): number {
  const share = Math.floor(memory / 32);
  return Math.min(Math.max(share, 64 * 1024 ** 2), 4 * gibibyte);
}

/** Memory holds the part that an upload gathers, and what the sockets have brought meanwhile. */
const memoryBesidePart = 1024 ** 2;

function checkUploadMemory(config: Config, problems: string[]): void {
  const { s3, uploadPartBytes, uploadMemoryBytes, maxUploadBytes } = config;
  const part =
    s3 === undefined
      ? fileSystemPartBytes
      : largestPart({ partBytes: uploadPartBytes, maxObjectBytes: maxUploadBytes });
  const needed = part + memoryBesidePart;
  if (uploadMemoryBytes >= needed) return;
  problems.push(
    `UPLOAD_MEMORY_BYTES is ${uploadMemoryBytes}: it should be at least ${needed}, because a file of MAX_UPLOAD_BYTES (${maxUploadBytes}) is stored in parts of up to ${part} bytes`,
  );
}

function readTls(reader: EnvReader): Config['tls'] {
  const certFile = reader.text('TLS_CERT_FILE');
  const keyFile = reader.text('TLS_KEY_FILE');
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    reader.problems.push('TLS_CERT_FILE and TLS_KEY_FILE should be set together');
    return undefined;
  }
  for (const [key, file] of [
    ['TLS_CERT_FILE', certFile],
    ['TLS_KEY_FILE', keyFile],
  ] as const) {
    try {
      readFileSync(file);
    } catch (error) {
      reader.problems.push(
        `${key} is ${JSON.stringify(file)}: it can't be read (${(error as NodeJS.ErrnoException).code})`,
      );
    }
  }
  return { certFile, keyFile };
}

function readNetworks(reader: EnvReader, key: string): BlockList | undefined {
  const list = new BlockList();
  const items = reader.list(key, [], (item) =>
    addAddress(list, item) ? null : 'it should be an IP address or a CIDR such as 10.0.0.0/8',
  );
  return items.length > 0 ? list : undefined;
}

function addAddress(list: BlockList, item: string): boolean {
  const [address = '', bits, rest] = item.split('/');
  const version = isIP(address);
  if (version === 0 || rest !== undefined) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (bits === undefined) {
    list.addAddress(address, family);
    return true;
  }
  const prefix = /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (prefix < 0 || prefix > (version === 4 ? 32 : 128)) return false;
  list.addSubnet(address, prefix, family);
  return true;
}

function originProblem(origin: string): string | null {
  if (origin === '*') return null;
  if (URL.canParse(origin) && new URL(origin).origin === origin) return null;
  return 'it should be * or an origin such as https://app.example.com';
}

function hostProblem(host: string): string | null {
  return /^[A-Za-z0-9.-]{1,253}$/.test(host)
    ? null
    : 'it should be a name such as files.internal, without a port';
}

function readBootstrapToken(reader: EnvReader): string | undefined {
  const token = reader.text('BOOTSTRAP_TOKEN');
  if (token !== undefined && !tokenPattern.test(token)) {
    // the value is a secret: it is not repeated here
    reader.problems.push('BOOTSTRAP_TOKEN should be 16 to 256 characters of A-Z a-z 0-9 . _ ~ + / = -');
  }
  return token;
}

/** RFC 7518 section 3.2: a key of HS256 has at least the 256 bits of its hash. */
const shortestSecret = 32;
const longestSecret = 1024;

function readLoginTokenSecret(reader: EnvReader): string | undefined {
  const secret = reader.text('LOGIN_TOKEN_SECRET');
  if (secret !== undefined && (secret.length < shortestSecret || secret.length > longestSecret)) {
    // not repeated here either
    reader.problems.push(
      `LOGIN_TOKEN_SECRET should be ${shortestSecret} to ${longestSecret} characters, better random ones`,
    );
  }
  return secret;
}
