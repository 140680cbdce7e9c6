import {
  flag,
  integer,
  list,
  listVariables,
  parsed,
  type ReadContext,
  readFileOf,
  refuseSet,
  text,
  type Values,
  type Variable,
} from './variable.ts';

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

interface RedisLogin {
  readonly tls: boolean;
  /** PEM text of the only trusted certificates; undefined: the system's. */
  readonly ca: string | undefined;
  readonly username: string | undefined;
  /** Never logged. */
  readonly password: string | undefined;
}

/** Address and login of Redis, or Valkey. */
export type RedisConfig = RedisLogin &
  (
    | (RedisAddress & { readonly mode: 'standalone'; readonly db: number })
    // the name of a master that Sentinels monitor
    | {
        readonly mode: 'sentinel';
        readonly sentinels: readonly RedisAddress[];
        readonly name: string;
        readonly sentinelUsername: string | undefined;
        readonly sentinelPassword: string | undefined;
        readonly db: number;
      }
    // some nodes of the cluster; they know the others
    | { readonly mode: 'cluster'; readonly nodes: readonly RedisAddress[] }
  );
export type RedisConfigOf<Mode extends RedisConfig['mode']> = Extract<RedisConfig, { readonly mode: Mode }>;

const form = 'redis://[[user]:password@]host[:port][/database], or rediss:// for TLS';
const highestDatabase = 16_383;

const places = {
  url: parsed('REDIS_URL', { parse: parseUrl, form, fallback: undefined, secret: true }),
  sentinels: addresses('REDIS_SENTINELS', 26_379),
  nodes: addresses('REDIS_CLUSTER_NODES', 6379),
};
const ofSentinels = {
  name: text('REDIS_SENTINEL_NAME'),
  sentinelUsername: text('REDIS_SENTINEL_USERNAME'),
  sentinelPassword: text('REDIS_SENTINEL_PASSWORD'),
  db: integer('REDIS_DATABASE', 0, [0, highestDatabase]),
};
const user = {
  username: text('REDIS_USERNAME'),
  password: text('REDIS_PASSWORD'),
};
const tls = { tls: flag('REDIS_TLS', false) };
const caFile = text('REDIS_TLS_CA_FILE', { shown: 'the system’s authorities' });
const variables = { ...places, ...ofSentinels, ...user, ...tls, caFile };
type RedisVariables = Values<typeof variables>;

export const redis = {
  title: 'Redis',
  variables: { redis: variables },
};

/** The REDIS_* variables. Messages do not quote values that may hold passwords. Undefined: no Redis. */
export function readRedis(read: RedisVariables, context: ReadContext): RedisConfig | undefined {
  const names = listVariables(places).map(({ name }) => name);
  const given = names.filter((name) => context.env[name]);
  if (given.length > 1) {
    context.problems.push(`${given.join(' and ')} are set: one of them says where Redis is`);
    return undefined;
  }
  if (read.sentinels !== undefined) return sentinelOf(read, read.sentinels, context);
  refuseSet(context, ofSentinels, 'REDIS_SENTINELS is not');
  if (read.url !== undefined) return standaloneOf(read, read.url, context);
  if (read.nodes !== undefined)
    return { mode: 'cluster', ...loginOf(read, read.tls, context), nodes: read.nodes };
  if (given.length === 0) refuseSet(context, { ...user, ...tls, caFile }, `none of ${names.join(', ')} is`);
  return undefined;
}

function standaloneOf(
  read: RedisVariables,
  url: UrlParts,
  context: ReadContext,
): RedisConfigOf<'standalone'> {
  refuseSet(context, tls, 'the address says it: rediss:// is with TLS');
  if (url.password !== undefined) refuseSet(context, user, 'REDIS_URL has a password too');
  const { username, password, ...place } = url;
  return {
    mode: 'standalone',
    ...loginOf(read, url.tls, context),
    ...(password === undefined ? {} : { username, password }),
    ...place,
  };
}

function sentinelOf(
  read: RedisVariables,
  sentinels: readonly RedisAddress[],
  context: ReadContext,
): RedisConfigOf<'sentinel'> {
  const { name, sentinelUsername, sentinelPassword, db } = read;
  if (name === undefined) {
    context.problems.push('REDIS_SENTINELS is set, but REDIS_SENTINEL_NAME, the name of the master, is not');
  }
  refuseUserAlone(context, ofSentinels.sentinelUsername, ofSentinels.sentinelPassword);
  const login = loginOf(read, read.tls, context);
  return { mode: 'sentinel', ...login, sentinels, name: name ?? '', sentinelUsername, sentinelPassword, db };
}

function loginOf(
  { username, password, caFile: file }: RedisVariables,
  isTls: boolean,
  context: ReadContext,
): RedisLogin {
  refuseUserAlone(context, user.username, user.password);
  if (!isTls) refuseSet(context, { caFile }, 'the connection to Redis is without TLS');
  return {
    tls: isTls,
    ca: file === undefined ? undefined : readPem(file, context.problems),
    username,
    password,
  };
}

/** A user without a password would be ignored. */
function refuseUserAlone({ env, problems }: ReadContext, { name }: Variable, password: Variable): void {
  if (env[name] && !env[password.name]) problems.push(`${name} is set, but ${password.name} is not`);
}

function readPem(path: string, problems: string[]): string | undefined {
  const pem = readFileOf(caFile, path, problems);
  if (pem !== undefined && !pem.includes('-----BEGIN CERTIFICATE-----')) {
    problems.push(`${caFile.name} is ${JSON.stringify(path)}: it should hold certificates in the PEM format`);
  }
  return pem;
}

/** `host[:port],...`; an IPv6 address is in brackets. */
function addresses(name: string, usualPort: number): Variable<readonly RedisAddress[] | undefined> {
  const parse = (item: string): RedisAddress | undefined => {
    const [, host = '', port = `${usualPort}`] =
      /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(?::(\d{1,5}))?$/i.exec(item) ?? [];
    const number = Number(port);
    if (host === '' || number < 1 || number > 65_535) return undefined;
    return { host: host.replace(/^\[(.*)\]$/, '$1'), port: number };
  };
  return list(name, undefined, { parse, form: 'host or host:port' });
}

type UrlParts = RedisAddress & Pick<RedisConfigOf<'standalone'>, 'tls' | 'username' | 'password' | 'db'>;

function parseUrl(text: string): UrlParts | undefined {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') return undefined;
  const [, database] = /^\/?(\d{1,5})?$/.exec(url.pathname) ?? [null, null];
  const db = Number(database ?? 0);
  if (database === null || db > highestDatabase || url.search !== '' || url.hash !== '') return undefined;
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (username === null || password === null || (username !== '' && password === '')) return undefined;
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
