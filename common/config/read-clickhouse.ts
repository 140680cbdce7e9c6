import type { EnvReader } from './validators.ts';

/** The ClickHouse server that takes the place of the embedded engine. */
export interface ClickhouseConfig {
  /** Without a trailing slash; never with a user or a password. */
  readonly url: string;
  readonly user: string;
  /** Never logged. */
  readonly password: string;
  /** Holds all tables. */
  readonly database: string;
}

const otherKeys = ['CLICKHOUSE_USER', 'CLICKHOUSE_PASSWORD', 'CLICKHOUSE_DATABASE'];
/** It stands in statements without quotes. */
const databasePattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const enginesOwn = /^(system|information_schema)$/i;

/** The CLICKHOUSE_* variables; undefined without CLICKHOUSE_URL. */
export function readClickhouse(reader: EnvReader): ClickhouseConfig | undefined {
  const text = reader.text('CLICKHOUSE_URL');
  if (text === undefined) {
    for (const key of otherKeys) {
      if (reader.text(key) !== undefined) reader.problems.push(`${key} is set, but CLICKHOUSE_URL is not`);
    }
    return undefined;
  }
  const url = readUrl(text, reader);
  const database = reader.text('CLICKHOUSE_DATABASE') ?? 'sluice';
  if (!databasePattern.test(database) || enginesOwn.test(database)) {
    reader.problems.push(
      `CLICKHOUSE_DATABASE is ${JSON.stringify(database)}: it should be a name of A-Z a-z 0-9 _ that is not the engine's own`,
    );
  }
  return Object.freeze({
    url,
    user: reader.text('CLICKHOUSE_USER') ?? 'default',
    password: reader.text('CLICKHOUSE_PASSWORD') ?? '',
    database,
  });
}

/** Whatever is wrong with it, the address is not repeated: it may hold a password. */
function readUrl(text: string, reader: EnvReader): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    reader.problems.push(
      'CLICKHOUSE_URL should be an http or https address without query, such as https://clickhouse.example.com:8443',
    );
  } else if (url.username !== '' || url.password !== '') {
    reader.problems.push(
      'CLICKHOUSE_URL should hold no user name and no password: CLICKHOUSE_USER and CLICKHOUSE_PASSWORD are for them',
    );
  }
  return text.replace(/\/+$/, '');
}
