import {
  flag,
  isBaseUrl,
  type ReadContext,
  readFileOf,
  refuseSet,
  text,
  type Values,
  variable,
} from './variable.ts';

const enginesOwn = /^(system|information_schema)$/i;
const addressLimit = 64;

const variables = {
  stores: variable('CLICKHOUSE_URL', readStores),
  user: text('CLICKHOUSE_USER', { fallback: 'default' }),
  password: text('CLICKHOUSE_PASSWORD', { fallback: '', shown: 'none' }),
  database: text('CLICKHOUSE_DATABASE', {
    fallback: 'sluice',
    // statements use it unquoted
    fits: (given) => /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(given) && !enginesOwn.test(given),
    form: "a name of A-Z a-z 0-9 _ that is not the engine's own",
  }),
  caFile: text('CLICKHOUSE_CA_FILE', { shown: 'Node’s own list' }),
  replicated: flag('CLICKHOUSE_REPLICATED', false),
};

export const clickhouse = {
  title: 'ClickHouse',
  variables: { clickhouse: variables },
};

/**
 * The ClickHouse stores that replace the embedded engine, each as a comma-separated list of addresses. Addresses have no
 * trailing slash, user or password. The password is never logged.
 */
export type ClickhouseConfig = NonNullable<ReturnType<typeof readClickhouse>>;

/** The CLICKHOUSE_* variables; undefined without CLICKHOUSE_URL. */
export function readClickhouse(read: Values<typeof variables>, context: ReadContext) {
  const { problems } = context;
  const { stores, caFile } = read;
  if (stores === undefined) {
    const { stores: _, ...others } = variables;
    refuseSet(context, others, 'CLICKHOUSE_URL is not');
    return undefined;
  }
  if (caFile !== undefined) {
    if (!stores.every((store) => store.split(',').every((address) => address.startsWith('https:')))) {
      problems.push('CLICKHOUSE_CA_FILE is set, but CLICKHOUSE_URL has an address without https');
    }
    readFileOf(variables.caFile, caFile, problems);
  }
  return Object.freeze({ ...read, stores });
}

/**
 * Stores are separated by semicolons, and the addresses of a store by commas. No problem quotes an address: it may
 * contain a password.
 */
function readStores(given: string | undefined, problems: string[]): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const stores = given.split(';').map((store) => store.split(',').map(trimmed));
  const addresses = stores.flat();
  for (const address of addresses) checkUrl(address, problems);
  if (new Set(addresses).size < addresses.length) problems.push('CLICKHOUSE_URL names an address twice');
  if (addresses.length > addressLimit) {
    problems.push(`CLICKHOUSE_URL should have ${addressLimit} addresses at most`);
  }
  return stores.map((store) => store.join(','));
}

function trimmed(address: string): string {
  return address.trim().replace(/\/+$/, '');
}

function checkUrl(given: string, problems: string[]): void {
  if (!isBaseUrl(given)) {
    problems.push(
      'CLICKHOUSE_URL should be an http or https address without query, such as https://clickhouse.example.com:8443, or several with commas between, and semicolons between stores',
    );
    return;
  }
  const { username, password } = new URL(given);
  if (username !== '' || password !== '') {
    problems.push(
      'CLICKHOUSE_URL should hold no user name and no password: CLICKHOUSE_USER and CLICKHOUSE_PASSWORD are for them',
    );
  }
}
