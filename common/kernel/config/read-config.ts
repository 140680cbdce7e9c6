import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { fileSystemPartBytes } from './file-system-part.ts';
import { type ClickhouseConfig, clickhouse, readClickhouse } from './read-clickhouse.ts';
import { type RedisConfig, readRedis, redis } from './read-redis.ts';
import { readS3, type S3Config, s3 } from './read-s3.ts';
import { readTracing, type TracingConfig, traces } from './read-tracing.ts';
import { largestPart } from './s3-part-sizes.ts';
import { accounts, address, files, limits, logs, mails, processes, records, scanner } from './settings.ts';
import {
  listVariables,
  type ReadContext,
  readFileOf,
  readVariables,
  refuseSet,
  type Section,
  type Values,
} from './variable.ts';

/** Every environment variable, in the order of docs/configuration.md. */
export const sections: readonly Section[] = [
  address,
  accounts,
  files,
  scanner,
  limits,
  records,
  mails,
  s3,
  clickhouse,
  redis,
  processes,
  logs,
  traces,
];

const variables = {
  ...address.variables,
  ...accounts.variables,
  ...files.variables,
  ...scanner.variables,
  ...limits.variables,
  ...records.variables,
  ...mails.variables,
  ...s3.variables,
  ...clickhouse.variables,
  ...redis.variables,
  ...processes.variables,
  ...logs.variables,
  ...traces.variables,
};

export const variableNames: ReadonlySet<string> = new Set(listVariables(variables).map(({ name }) => name));

type SectionValues = Values<typeof variables>;

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Values derived from several variables. */
interface DerivedValues {
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The provider of logins to the dashboard; undefined: none. */
  readonly oidc: OidcConfig | undefined;
  /** Bytes for cached results of reads; 0: no cache. */
  readonly recordCacheBytes: number;
  /** undefined: files are stored under `dataDir`. */
  readonly s3: S3Config | undefined;
  /** undefined: the embedded engine, under `dataDir`. */
  readonly clickhouse: ClickhouseConfig | undefined;
  /** undefined: this process keeps the state that processes share. */
  readonly redis: RedisConfig | undefined;
  /** undefined: tracing is off. */
  readonly tracing: TracingConfig | undefined;
}

/** The whole configuration, explained by docs/configuration.md. Sizes are bytes, times are milliseconds. */
export interface Config extends Omit<SectionValues, keyof DerivedValues>, DerivedValues {}

/** The environment has invalid values; `problems` names each of them. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Reads the configuration from environment variables. Throws a ConfigError that lists every invalid one. */
export function readConfig(env: ReadContext['env']): Config {
  const context: ReadContext = { env, problems: [] };
  const read = readVariables(variables, context);
  const config: Config = {
    ...read,
    dataDir: resolve(read.dataDir),
    tls: readTls(read.tls, context),
    oidc: readOidc(read.oidc, context),
    recordCacheBytes: read.recordCacheBytes ?? cacheBytesFor(usableMemory() / read.workers),
    s3: readS3(read.s3, context),
    clickhouse: readClickhouse(read.clickhouse, context),
    redis: readRedis(read.redis, context),
    tracing: readTracing(read.tracing, context),
  };
  const { policy, maxBytes, timeout } = scanner.variables.scan;
  if (read.scan.clamdAddress === undefined)
    refuseSet(context, { policy, maxBytes, timeout }, 'CLAMD_ADDRESS is not: files are not scanned');
  context.problems.push(...contradictions(config));
  if (context.problems.length > 0) throw new ConfigError(context.problems);
  return Object.freeze(config);
}

/** The S3 section alone, for a command that uses a bucket of its own. Throws a ConfigError like `readConfig`. */
export function readBucketConfig(
  env: ReadContext['env'],
  bucket: string,
): { readonly s3: S3Config; readonly s3RequestTimeout: number } {
  const context: ReadContext = { env: { ...env, [s3.variables.s3.bucket.name]: bucket }, problems: [] };
  const read = readVariables(s3.variables, context);
  const config = readS3(read.s3, context);
  if (config === undefined || context.problems.length > 0) throw new ConfigError(context.problems);
  return { s3: config, s3RequestTimeout: read.s3RequestTimeout };
}

/** Bytes of memory that this process may use: the machine's, or its container's limit. */
export function usableMemory(): number {
  // undefined, 0, or more than the machine has: there is no limit
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.min(totalmem(), limit);
}

/** Leaves the rest of the memory to uploads, the engine and the page cache. @param memory of one process, in bytes */
export function cacheBytesFor(memory: number): number {
  const share = Math.floor(memory / 32);
  return Math.min(Math.max(share, 64 * 1024 ** 2), 4 * 1024 ** 3);
}

function readTls({ certFile, keyFile }: SectionValues['tls'], { problems }: ReadContext): Config['tls'] {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE should be set together');
    return undefined;
  }
  readFileOf(variables.tls.certFile, certFile, problems);
  readFileOf(variables.tls.keyFile, keyFile, problems);
  return { certFile, keyFile };
}

function readOidc(
  { issuer, clientId, clientSecret }: SectionValues['oidc'],
  { problems }: ReadContext,
): Config['oidc'] {
  if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined)
    return { issuer, clientId, clientSecret };
  if (issuer !== undefined || clientId !== undefined || clientSecret !== undefined)
    problems.push('OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET should be set together');
  return undefined;
}

/** An upload needs memory for the part that it gathers, and for the bytes that its socket receives meanwhile. */
const memoryBesidePart = 1024 ** 2;

/** Problems of values that are each valid, but not together. */
function contradictions(config: Config): string[] {
  const { uploadPartBytes, uploadMemoryBytes, maxUploadBytes, workers } = config;
  const problems: string[] = [];
  const part =
    config.s3 === undefined
      ? fileSystemPartBytes
      : largestPart({ partBytes: uploadPartBytes, maxObjectBytes: maxUploadBytes });
  const needed = part + memoryBesidePart;
  if (uploadMemoryBytes < needed) {
    problems.push(
      `UPLOAD_MEMORY_BYTES is ${uploadMemoryBytes}: it should be at least ${needed}, because a file of MAX_UPLOAD_BYTES (${maxUploadBytes}) is stored in parts of up to ${part} bytes`,
    );
  }
  if (config.s3?.publicBucket === true && config.fileLinks === 'private') {
    problems.push('S3_PUBLIC_BUCKET is true: files in a public bucket cannot have FILE_LINKS=private');
  }
  if (config.downloads === 'redirect' && config.s3 === undefined) {
    problems.push('DOWNLOADS is redirect, but S3_BUCKET is not set: the file system has no addresses');
  }
  const servedByBucket =
    config.s3?.publicBucket === true ? 'S3_PUBLIC_BUCKET' : config.publicFilesUrl && 'PUBLIC_FILES_URL';
  if (config.scan.clamdAddress !== undefined && servedByBucket) {
    problems.push(
      `CLAMD_ADDRESS and ${servedByBucket} are set: a bucket that everybody may read serves files before they are scanned, and in quarantine`,
    );
  }
  if (workers > 1 && config.clickhouse === undefined) {
    problems.push(
      `WORKERS is ${workers}, but CLICKHOUSE_URL is not set: the embedded engine serves one process only`,
    );
  }
  if (config.smtpUrl !== undefined && config.mailFrom === undefined) {
    problems.push('SMTP_URL is set: MAIL_FROM should name the sender of its mails');
  }
  return problems;
}
