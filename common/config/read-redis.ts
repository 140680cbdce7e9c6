import type { EnvReader } from './validators.ts';

/** Where Redis, or Valkey, is. */
export interface RedisConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
}

const form = 'redis://[[user]:password@]host[:port][/database], or rediss:// for TLS';
const highestDatabase = 16_383;

/** Reads REDIS_URL. It holds a password, so what is wrong with it is told without repeating it. */
export function readRedis(reader: EnvReader): RedisConfig | undefined {
  const text = reader.text('REDIS_URL');
  if (text === undefined) return undefined;
  const config = parse(text);
  if (config === null) reader.problems.push(`REDIS_URL should be ${form}`);
  return config ?? undefined;
}

function parse(text: string): RedisConfig | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') return null;
  const [, database] = /^\/?(\d{1,5})?$/.exec(url.pathname) ?? [null, null];
  const db = Number(database ?? 0);
  if (database === null || db > highestDatabase || url.search !== '' || url.hash !== '') return null;
  const username = decoded(url.username);
  const password = decoded(url.password);
  // a user without a password would be taken for nobody at all
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
