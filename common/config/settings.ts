import { BlockList, isIP } from 'node:net';
import {
  baseUrl,
  flag,
  integer,
  list,
  oneOf,
  text,
  type Unexplained,
  type Values,
  variable,
} from './variable.ts';

/** What the environment may say, but for the stores and traces, by the headings of docs/configuration.md. */

const kibibyte = 1024;
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

const token = {
  secret: true,
  fits: (given: string) => /^[A-Za-z0-9._~+/=-]{16,256}$/.test(given),
  form: '16 to 256 characters of A-Z a-z 0-9 . _ ~ + / = -',
};

/** RFC 7518 section 3.2: a key of HS256 has at least the 256 bits of its hash. */
const shortestSecret = 32;
const longestSecret = 1024;

export const address = {
  title: 'Address',
  text: 'Requests from other machines must use HTTPS: set the two TLS files, or TRUSTED_PROXIES for a proxy that terminates HTTPS ([reverse-proxies.md](reverse-proxies.md)).',
  variables: {
    host: text('HOST', {
      fallback: '127.0.0.1',
      fits: (given) => isIP(given) !== 0 || given === 'localhost',
      form: 'an IP address or localhost',
    }).means('the IP address to listen on, or `localhost`'),
    port: integer('PORT', 8080, [0, 65_535]).means(
      'the port to listen on; 0 takes any free port and prints it',
    ),
    publicUrl: baseUrl('PUBLIC_URL', 'from HOST and PORT').means('the base address that clients see'),
    allowedHosts: list('ALLOWED_HOSTS', [], {
      parse: (host) => (/^[A-Za-z0-9.-]{1,253}$/.test(host) ? host : undefined),
      form: 'a name such as files.internal, without a port',
    }).means(
      'names with a dot by which this machine asks itself over plain HTTP, besides that of PUBLIC_URL, separated by commas; any other one is refused, because a web page can have its own name resolved to this machine',
    ),
    tls: {
      certFile: text('TLS_CERT_FILE').means(
        'the certificate, a PEM file; with TLS_KEY_FILE the server speaks HTTPS',
      ),
      keyFile: text('TLS_KEY_FILE').means('the key of the certificate, a PEM file'),
    },
    trustedProxies: networks('TRUSTED_PROXIES').means(
      'proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are believed, as addresses or CIDRs separated by commas; a proxy on this machine (127.0.0.1) must be listed too',
    ),
    corsOrigins: list('CORS_ORIGINS', ['*'], {
      parse: (origin) =>
        origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin) ? origin : undefined,
      form: '* or an origin such as https://app.example.com',
    }).means('origins whose pages may call the API, separated by commas'),
  },
};

export const accounts = {
  title: 'Data and accounts',
  variables: {
    dataDir: text('DATA_DIR', { fallback: './data' }).means(
      'where the database and the files are kept, unless they are elsewhere',
    ),
    bootstrapToken: text('BOOTSTRAP_TOKEN', { ...token, shown: 'random, printed once' }).means(
      'the first access token of an empty store, 16 to 256 characters',
    ),
    registration: oneOf('REGISTRATION', 'first', ['first', 'open', 'closed']).means(
      'who may register in the dashboard: `first`, the first person, while the only account is the one that the first start created; `open`, everybody; `closed`, nobody',
    ),
    consoleApiUrl: baseUrl('CONSOLE_API_URL', 'its own address').means(
      'the base address of the API, if the dashboard has another one; CORS_ORIGINS must then allow that of the dashboard',
    ),
    loginTokenSecret: text('LOGIN_TOKEN_SECRET', {
      secret: true,
      fits: ({ length }) => length >= shortestSecret && length <= longestSecret,
      form: `${shortestSecret} to ${longestSecret} characters, better random ones`,
      shown: 'a key in the store',
    }).means(
      'signs login tokens, 32 to 1024 characters. Processes that share it accept each other’s tokens; changing it ends all of them',
    ),
    loginTokenTtl: integer('LOGIN_TOKEN_TTL_MS', 36 * hour, [second, 366 * day]).means(
      'how long a login token is valid',
    ),
    allowClearAllSpaces: flag('ALLOW_CLEAR_ALL_SPACES', false).means(
      'whether `clear-all-spaces: true` may delete all records of a project',
    ),
  },
};

export const files = {
  title: 'Files',
  variables: {
    maxUploadBytes: integer('MAX_UPLOAD_BYTES', 100_000_000, [1, 5 * 1024 * gibibyte]).means(
      'the largest file that may be uploaded; larger ones get 413',
    ),
    fileLinks: oneOf('FILE_LINKS', 'public', ['public', 'private']).means(
      '`public`: anyone who has an s3Link can read the file. `private`: it takes the owner’s token, or a link that expires',
    ),
    digest: oneOf('DIGEST', 'none', ['none', 'sha-256']).means(
      '`sha-256`: the SHA-256 of every file is kept with it, shown in lists and sent as `Repr-Digest` with its downloads',
    ),
    publicFilesUrl: baseUrl('PUBLIC_FILES_URL').means(
      'base of s3Link when something else, such as a CDN, serves the files. It then decides who may read them; FILE_LINKS applies to the gateway only',
    ),
    uploadMemoryBytes: integer('UPLOAD_MEMORY_BYTES', 256 * mebibyte, [mebibyte, 1024 * gibibyte]).means(
      'memory for all uploads of a process; an upload waits while none is free',
    ),
    fileCacheBytes: integer('FILE_CACHE_BYTES', 64 * mebibyte, [0, 64 * gibibyte]).means(
      'memory of a process for files of up to 64 KiB that are read often; with CLICKHOUSE_URL it needs REDIS_URL; 0 keeps none',
    ),
    // the least that S3 takes for a part that is not the last
    uploadPartBytes: integer('UPLOAD_PART_BYTES', 8 * mebibyte, [5 * mebibyte, gibibyte]).means(
      'size of a part in S3; larger for files that would need more than 10,000 parts',
    ),
    uploadMinRate: integer('UPLOAD_MIN_RATE', 8192, [0, gibibyte]).means(
      'bytes a second: an upload slower than this over UPLOAD_MIN_RATE_PERIOD_MS is cut (408) while others wait for memory',
    ),
    uploadMinRatePeriod: integer('UPLOAD_MIN_RATE_PERIOD_MS', 5 * second, [second, hour]).means(
      'the period over which that rate is measured',
    ),
    uploadWaitTimeout: integer('UPLOAD_WAIT_TIMEOUT_MS', 60 * second, [100, hour]).means(
      'an upload that waits for memory gets 503 after this long without any progress',
    ),
    janitorStaleAfter: integer('JANITOR_STALE_AFTER_MS', day, [second, 30 * day]).means(
      'an upload without a new part for this long is aborted',
    ),
    janitorGrace: integer('JANITOR_GRACE_MS', 900 * second, [second, day]).means(
      'files and rows younger than this are left alone. Also the least time between the two checks after which a row without its file is removed',
    ),
    janitorInterval: integer('JANITOR_INTERVAL_MS', hour, [second, day]).means(
      'time between two runs of the janitor',
    ),
  },
};

const mostRequests = 1_000_000;

function requestLimits(prefix: 'TOKEN' | 'ADDRESS', sender: string, more = '') {
  return {
    rate: integer(`${prefix}_RATE`, 0, [0, mostRequests]).means(
      `requests a second of ${sender}${more}; more get 429. 0: no limit`,
    ),
    burst: integer(`${prefix}_BURST`, 100, [1, mostRequests]).means(
      'requests that it may send at once after a pause',
    ),
    inFlight: integer(`${prefix}_MAX_IN_FLIGHT`, 0, [0, mostRequests]).means(
      `requests in flight of ${sender}. 0: no limit`,
    ),
  };
}

/** What one sender may ask for. 0: no limit; the burst is at least 1. */
export type RequestLimits = Values<ReturnType<typeof requestLimits>>;

export const limits = {
  title: 'Rate limits and quotas',
  variables: {
    tokenLimits: requestLimits('TOKEN', 'one access token'),
    addressLimits: requestLimits('ADDRESS', 'one address', ', with any token'),
    storageQuota: {
      files: integer('MAX_STORED_FILES', 0, [0, 1_000_000_000]).means(
        'files that one account may store; more get 403. 0: no limit',
      ),
      bytes: integer('MAX_STORED_BYTES', 0, [0, 2 ** 50]).means(
        'bytes of files, and of uploads that are not complete, that one account may store; more get 403. 0: no limit',
      ),
    },
    maxOpenUploads: integer('MAX_OPEN_UPLOADS', 1000, [1, 100_000]).means(
      'uploads of one account that are not complete, and can go on; more get 403',
    ),
    maxStoredRecordBytes: integer('MAX_STORED_RECORD_BYTES', 0, [0, 2 ** 50]).means(
      'bytes of records that one account may store: their values as text, and 64 for each record; more get 403. 0: no limit',
    ),
  },
};

export const readLimitDefaults = { timeout: 30_000, minRate: 16_384, minRatePeriod: 10_000 };

const readLimits = {
  timeout: integer('READ_TIMEOUT_MS', readLimitDefaults.timeout, [100, hour]).means(
    'how long the engine may work on one read, or on the next bytes of a list; then 422 `query_too_expensive`',
  ),
  minRate: integer('READ_MIN_RATE', readLimitDefaults.minRate, [0, gibibyte]).means(
    'bytes a second: a list that its client reads more slowly over READ_MIN_RATE_PERIOD_MS is cut while others wait',
  ),
  minRatePeriod: integer('READ_MIN_RATE_PERIOD_MS', readLimitDefaults.minRatePeriod, [100, hour]).means(
    'the period over which that rate is measured',
  ),
};

/** What reads that clients ask for may take of the engine. */
export type ReadLimits = Values<typeof readLimits>;

export const records = {
  title: 'Records',
  variables: {
    maxRecordBytes: integer('MAX_RECORD_BYTES', mebibyte, [kibibyte, 64 * mebibyte]).means(
      'the largest body of a request with one record',
    ),
    maxRecordsBytes: integer('MAX_RECORDS_BYTES', 16 * mebibyte, [kibibyte, 256 * mebibyte]).means(
      'the largest body of a request with an array of records',
    ),
    maxSpaces: integer('MAX_SPACES', 10_000, [1, 10_000_000]).means(
      'record spaces that one account may have; more get 403',
    ),
    maxProjects: integer('MAX_PROJECTS', 1000, [1, 10_000_000]).means(
      'projects that one account may have; more get 403',
    ),
    recordCacheBytes: integer(
      'RECORD_CACHE_BYTES',
      undefined,
      [0, 64 * gibibyte],
      'a 32nd of the memory, from 64 MiB to 4 GiB',
    ).means(
      'memory for records and answers of reads: in a process that has its store to itself three quarters are for the records of spaces that are asked often, some 300 bytes for one of 8 short fields; with CLICKHOUSE_URL it needs REDIS_URL; 0 keeps none',
    ),
    webhookPrivateNetworks: networks('WEBHOOK_PRIVATE_NETWORKS').means(
      'addresses or CIDRs of private networks that webhooks may call, separated by commas; others are refused',
    ),
    readLimits,
    readMaxRows: integer('READ_MAX_ROWS', 100_000_000, [0, 1e15]).means(
      'how many records a read, or the search of a change, with conditions or a sort may read in the engine; then 422 `query_too_expensive`; 0: any number',
    ),
  },
};

export const processes = {
  title: 'Processes and timeouts',
  variables: {
    // more than the cores of any machine that runs one service
    workers: integer('WORKERS', 1, [1, 256]).means(
      'worker processes on one port; more than one needs CLICKHOUSE_URL. At most one a core is useful',
    ),
    bodyIdleTimeout: integer('BODY_IDLE_TIMEOUT_MS', 60 * second, [100, hour]).means(
      'a request body without a byte for this long gets 408; an answer that is not read for this long is cut',
    ),
    requestTimeout: integer('REQUEST_TIMEOUT_MS', 60 * second, [100, hour]).means(
      'a request that is not answered within this time gets 503',
    ),
    drainDelay: integer('DRAIN_DELAY_MS', 0, [0, 600 * second]).means(
      'how long requests are still served after SIGTERM while `/readyz` answers 503, so that a load balancer can react',
    ),
    drainTimeout: integer('DRAIN_TIMEOUT_MS', 10 * second, [0, hour]).means(
      'how long requests in progress may take after that',
    ),
  },
};

export const logs = {
  title: 'Logs and metrics',
  variables: {
    logLevel: oneOf('LOG_LEVEL', 'info', [
      'fatal',
      'error',
      'warn',
      'info',
      'debug',
      'trace',
      'silent',
    ]).means(
      'the lowest level that is logged. On a terminal lines are plain text, elsewhere JSON ([operations.md](operations.md#logs))',
    ),
    metricsToken: text('METRICS_TOKEN', token).means(
      'the bearer token for `/metrics`; without it only this machine may read them, and not through a proxy',
    ),
  },
};

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** A variable that lists networks; undefined: none. */
function networks(name: string): Unexplained<BlockList | undefined> {
  const form = 'an IP address or a CIDR such as 10.0.0.0/8';
  const { read } = list(name, [], { parse: parseNetwork, form });
  return variable(name, (text, problems) => {
    const found = read(text, problems);
    const block = new BlockList();
    for (const { address, prefix, family } of found) block.addSubnet(address, prefix, family);
    return found.length > 0 ? block : undefined;
  });
}

function parseNetwork(item: string): Network | undefined {
  const [address = '', bits, rest] = item.split('/');
  const version = isIP(address);
  if (version === 0 || rest !== undefined) return undefined;
  const widest = version === 4 ? 32 : 128;
  const prefix = bits === undefined ? widest : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (prefix < 0 || prefix > widest) return undefined;
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}
