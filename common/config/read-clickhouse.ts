import { readFileSync } from 'node:fs';
import type { EnvReader } from './validators.ts';

/** The ClickHouse servers that take the place of the embedded engine. */
export interface ClickhouseConfig {
  /**
   * One address, or several of servers with the same data, separated by commas. Without trailing slashes; never with a
   * user or a password.
   */
  readonly url: string;
  readonly user: string;
  /** Never logged. */
  readonly password: string;
  /** Holds all tables. */
  readonly database: string;
  /** PEM file of who signed the servers' certificates; undefined: the authorities that Node knows. */
  readonly caFile: string | undefined;
  /** Name of the cluster that the servers belong to; undefined: there is one store. */
  readonly cluster: string | undefined;
}

const otherKeys = [
  'CLICKHOUSE_USER',
  'CLICKHOUSE_PASSWORD',
  'CLICKHOUSE_DATABASE',
  'CLICKHOUSE_CA_FILE',
  'CLICKHOUSE_CLUSTER',
  'CLICKHOUSE_EXPERIMENTAL_CLUSTER',
];
/** It stands in statements without quotes. */
const databasePattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const enginesOwn = /^(system|information_schema)$/i;
const clusterPattern = /^[A-Za-z_][A-Za-z0-9_.-]{0,62}$/;
const addressLimit = 64;

/** The CLICKHOUSE_* variables; undefined without CLICKHOUSE_URL. */
export function readClickhouse(reader: EnvReader): ClickhouseConfig | undefined {
  const text = reader.text('CLICKHOUSE_URL');
  if (text === undefined) {
    for (const key of otherKeys) {
      if (reader.text(key) !== undefined) reader.problems.push(`${key} is set, but CLICKHOUSE_URL is not`);
    }
    return undefined;
  }
  const url = readUrls(text, reader);
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
    caFile: readCaFile(url, reader),
    cluster: readCluster(reader),
  });
}

/** Whatever is wrong with one, the address is not repeated: it may hold a password. */
function readUrls(text: string, reader: EnvReader): string {
  const urls = text.split(',').map((item) => item.trim().replace(/\/+$/, ''));
  for (const item of urls) checkUrl(item, reader);
  if (new Set(urls).size < urls.length) reader.problems.push('CLICKHOUSE_URL names an address twice');
  if (urls.length > addressLimit) {
    reader.problems.push(`CLICKHOUSE_URL should have ${addressLimit} addresses at most`);
  }
  return urls.join(',');
}

function checkUrl(text: string, reader: EnvReader): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    reader.problems.push(
      'CLICKHOUSE_URL should be an http or https address without query, such as https://clickhouse.example.com:8443, or several with commas between',
    );
  } else if (url.username !== '' || url.password !== '') {
    reader.problems.push(
      'CLICKHOUSE_URL should hold no user name and no password: CLICKHOUSE_USER and CLICKHOUSE_PASSWORD are for them',
    );
  }
}

function readCaFile(url: string, reader: EnvReader): string | undefined {
  const file = reader.text('CLICKHOUSE_CA_FILE');
  if (file === undefined) return undefined;
  if (!url.split(',').every((item) => item.startsWith('https:'))) {
    reader.problems.push('CLICKHOUSE_CA_FILE is set, but CLICKHOUSE_URL has an address without https');
  }
  try {
    readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    reader.problems.push(`CLICKHOUSE_CA_FILE is ${JSON.stringify(file)}: it can't be read (${code})`);
  }
  return file;
}

function readCluster(reader: EnvReader): string | undefined {
  const cluster = reader.text('CLICKHOUSE_CLUSTER');
  const allowed = reader.boolean('CLICKHOUSE_EXPERIMENTAL_CLUSTER', false);
  if (cluster !== undefined && !allowed) {
    reader.problems.push(
      'CLICKHOUSE_CLUSTER is experimental, as no test has met a real cluster yet: CLICKHOUSE_EXPERIMENTAL_CLUSTER=true allows it',
    );
  }
  if (cluster !== undefined && !clusterPattern.test(cluster)) {
    reader.problems.push(
      `CLICKHOUSE_CLUSTER is ${JSON.stringify(cluster)}: it should be a name of A-Z a-z 0-9 _ . - as in system.clusters`,
    );
  }
  return cluster;
}
