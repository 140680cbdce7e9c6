import { readFileSync } from 'node:fs';
import type { EnvReader } from './validators.ts';

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

interface RedisLogin {
  readonly tls: boolean;
  /** PEM text of the only certificates that are trusted; undefined: those of the system. */
  readonly ca: string | undefined;
  readonly username: string | undefined;
  /** Never logged. */
  readonly password: string | undefined;
}

export interface StandaloneRedis extends RedisLogin, RedisAddress {
  readonly mode: 'standalone';
  readonly db: number;
}

/** A master that Sentinels know, by its name. */
export interface SentinelRedis extends RedisLogin {
  readonly mode: 'sentinel';
  readonly sentinels: readonly RedisAddress[];
  readonly name: string;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  readonly db: number;
}

/** Redis Cluster. @param nodes some of its nodes; they tell of the others */
export interface ClusterRedis extends RedisLogin {
  readonly mode: 'cluster';
  readonly nodes: readonly RedisAddress[];
}

/** Where Redis, or Valkey, is. */
export type RedisConfig = StandaloneRedis | SentinelRedis | ClusterRedis;

const form = 'redis://[[user]:password@]host[:port][/database], or rediss:// for TLS';
const highestDatabase = 16_383;
const wholes = ['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const;
const sentinelKeys = ['REDIS_SENTINEL_NAME', 'REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD'] as const;
const loginKeys = ['REDIS_USERNAME', 'REDIS_PASSWORD', 'REDIS_TLS', 'REDIS_TLS_CA_FILE'] as const;

/** The REDIS_* variables. Some hold passwords, so messages about those do not repeat them. */
export function readRedis(reader: EnvReader): RedisConfig | undefined {
  const given = wholes.filter((key) => reader.text(key) !== undefined);
  if (given.length > 1) {
    reader.problems.push(`${given.join(' and ')} are set: one of them says where Redis is`);
    return undefined;
  }
  const [whole] = given;
  refuse(reader, whole === 'REDIS_SENTINELS' ? [] : sentinelKeys, 'REDIS_SENTINELS is not');
  if (whole !== 'REDIS_SENTINELS') refuse(reader, ['REDIS_DATABASE'], 'REDIS_SENTINELS is not');
  if (whole === undefined) refuse(reader, loginKeys, `none of ${wholes.join(', ')} is`);
  if (whole === 'REDIS_URL') return readStandalone(reader);
  if (whole === 'REDIS_SENTINELS') return readSentinel(reader);
  return whole === undefined ? undefined : readCluster(reader);
}

/** Variables that would be read by nobody are a mistake. */
function refuse(reader: EnvReader, keys: readonly string[], reason: string): void {
  for (const key of keys) {
    if (reader.text(key) !== undefined) reader.problems.push(`${key} is set, but ${reason}`);
  }
}

function readStandalone(reader: EnvReader): StandaloneRedis | undefined {
  const url = parseUrl(reader.text('REDIS_URL') as string);
  if (url === null) {
    reader.problems.push(`REDIS_URL should be ${form}`);
    return undefined;
  }
  refuse(reader, ['REDIS_TLS'], 'the address says it: rediss:// is with TLS');
  if (url.password !== undefined) {
    refuse(reader, ['REDIS_USERNAME', 'REDIS_PASSWORD'], 'REDIS_URL has a password too');
  }
  const login = readLogin(reader, url.tls);
  return {
    mode: 'standalone',
    ...login,
    ...(url.password === undefined ? {} : { username: url.username, password: url.password }),
    host: url.host,
    port: url.port,
    db: url.db,
  };
}

function readSentinel(reader: EnvReader): SentinelRedis {
  const name = reader.text('REDIS_SENTINEL_NAME');
  if (name === undefined) {
    reader.problems.push('REDIS_SENTINELS is set, but REDIS_SENTINEL_NAME, the name of the master, is not');
  }
  const sentinelUsername = reader.text('REDIS_SENTINEL_USERNAME');
  const sentinelPassword = reader.text('REDIS_SENTINEL_PASSWORD');
  refuseUserAlone(reader, 'REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD');
  return {
    mode: 'sentinel',
    ...readLogin(reader, reader.boolean('REDIS_TLS', false)),
    sentinels: readAddresses(reader, 'REDIS_SENTINELS', 26_379),
    name: name ?? '',
    sentinelUsername,
    sentinelPassword,
    db: reader.integer('REDIS_DATABASE', 0, 0, highestDatabase),
  };
}

function readCluster(reader: EnvReader): ClusterRedis {
  return {
    mode: 'cluster',
    ...readLogin(reader, reader.boolean('REDIS_TLS', false)),
    nodes: readAddresses(reader, 'REDIS_CLUSTER_NODES', 6379),
  };
}

function readLogin(reader: EnvReader, tls: boolean): RedisLogin {
  refuseUserAlone(reader, 'REDIS_USERNAME', 'REDIS_PASSWORD');
  const file = reader.text('REDIS_TLS_CA_FILE');
  if (file !== undefined && !tls) {
    reader.problems.push('REDIS_TLS_CA_FILE is set, but the connection to Redis is without TLS');
  }
  return {
    tls,
    ca: file === undefined ? undefined : readPem(reader, 'REDIS_TLS_CA_FILE', file),
    username: reader.text('REDIS_USERNAME'),
    password: reader.text('REDIS_PASSWORD'),
  };
}

/** A user without a password would be taken for nobody at all. */
function refuseUserAlone(reader: EnvReader, user: string, password: string): void {
  if (reader.text(user) !== undefined && reader.text(password) === undefined) {
    reader.problems.push(`${user} is set, but ${password} is not`);
  }
}

function readPem(reader: EnvReader, key: string, file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    reader.problems.push(`${key} is ${JSON.stringify(file)}: it can't be read (${code})`);
    return undefined;
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    reader.problems.push(`${key} is ${JSON.stringify(file)}: it should hold certificates in the PEM format`);
  }
  return text;
}

/** `host[:port],...`; an IPv6 address stands in brackets. */
function readAddresses(reader: EnvReader, key: string, usualPort: number): readonly RedisAddress[] {
  const addresses: RedisAddress[] = [];
  reader.list(key, [], (item) => {
    const [, address = '', port = `${usualPort}`] =
      /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(?::(\d{1,5}))?$/i.exec(item) ?? [];
    const number = Number(port);
    if (address === '' || number < 1 || number > 65_535) return 'it should be host or host:port';
    addresses.push({ host: address.replace(/^\[(.*)\]$/, '$1'), port: number });
    return null;
  });
  return addresses;
}

type UrlParts = RedisAddress & Pick<StandaloneRedis, 'tls' | 'username' | 'password' | 'db'>;

function parseUrl(text: string): UrlParts | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') return null;
  const [, database] = /^\/?(\d{1,5})?$/.exec(url.pathname) ?? [null, null];
  const db = Number(database ?? 0);
  if (database === null || db > highestDatabase || url.search !== '' || url.hash !== '') return null;
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (username === null || password === null || (username !== '' && password === '')) return null;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    tls: url.protocol === 'rediss:',
    username: username === '' ? undefined : username,
    password: password === '' ? undefined : password,
    db,
  };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
