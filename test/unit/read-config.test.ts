import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { ConfigError, cacheBytesFor, readConfig, usableMemory } from '#kernel/config/read-config.ts';
import { thrownBy } from '../services/thrown-by.ts';

function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const secret = 'hunter2';

/** Each environment has one problem, which begins so or matches, and repeats no secret. */
function refuses(t: Test, cases: readonly (readonly [Record<string, string>, string | RegExp])[]): void {
  for (const [env, problem] of cases) {
    const [found = '', ...others] = problems(env);
    t.strictSame(others, [], JSON.stringify(env));
    if (typeof problem === 'string') t.equal(found.slice(0, problem.length), problem);
    else t.match(found, problem);
    t.notMatch(found, secret);
  }
}

t.test('the cache of records is a share of the memory of a process', async (t) => {
  const mebibyte = 1024 ** 2;
  const sizes = [512, 8 * 1024, 24 * 1024, 1024 ** 2].map(
    (memory) => cacheBytesFor(memory * mebibyte) / mebibyte,
  );
  t.strictSame(sizes, [64, 256, 768, 4096]);
  const alone = readConfig({}).recordCacheBytes;
  t.equal(cacheBytesFor(usableMemory()), alone);
  t.ok(readConfig({ WORKERS: '4', CLICKHOUSE_URL: 'http://localhost' }).recordCacheBytes <= alone);
  t.equal(readConfig({ RECORD_CACHE_BYTES: '0' }).recordCacheBytes, 0);
});

t.test('defaults', async (t) => {
  t.match(readConfig({}), {
    host: '127.0.0.1',
    port: 8080,
    publicUrl: undefined,
    tls: undefined,
    trustedProxies: undefined,
    webhookPrivateNetworks: undefined,
    corsOrigins: ['*'],
    dataDir: resolve('data'),
    bootstrapToken: undefined,
    maxUploadBytes: 100_000_000,
    uploadMemoryBytes: 268_435_456,
    uploadPartBytes: 8_388_608,
    clickhouse: undefined,
    s3: undefined,
    s3RequestTimeout: 60_000,
    tokenLimits: { rate: 0, burst: 100, inFlight: 0 },
    addressLimits: { rate: 0, burst: 100, inFlight: 0 },
    maxOpenUploads: 1000,
    storageQuota: { files: 0, bytes: 0 },
    maxStoredRecordBytes: 0,
    maxRecordBytes: 1_048_576,
    maxRecordsBytes: 16_777_216,
    fileLinks: 'public',
    allowClearAllSpaces: false,
    drainDelay: 0,
    drainTimeout: 10_000,
    workers: 1,
    metricsToken: undefined,
    logLevel: 'info',
  });
});

t.test('an empty variable counts as not set', async (t) => {
  t.equal(readConfig({ PORT: '', PUBLIC_URL: '' }).port, 8080);
});

t.test('every bad value is reported at once, with its range', async (t) => {
  const found = problems({
    PORT: '65536',
    MAX_UPLOAD_BYTES: '1e9',
    LOG_LEVEL: 'loud',
    CORS_ORIGINS: 'https://a.example, nonsense',
    ALLOWED_HOSTS: 'files.internal, files.internal:80',
    TRUSTED_PROXIES: '10.0.0.0/33',
    WEBHOOK_PRIVATE_NETWORKS: 'true',
    PUBLIC_URL: 'ftp://x',
    HOST: 'example.com',
    ALLOW_CLEAR_ALL_SPACES: 'yes',
    UPLOAD_PART_BYTES: '5242879',
    S3_REQUEST_TIMEOUT_MS: '99',
    S3_SECRET_ACCESS_KEY: 'hunter2',
    TLS_KEY_FILE: '/none',
  });
  for (const text of [
    'PORT is "65536": it should be a whole number from 0 to 65535',
    'MAX_UPLOAD_BYTES is "1e9"',
    'LOG_LEVEL is "loud"',
    'CORS_ORIGINS has "nonsense"',
    'ALLOWED_HOSTS has "files.internal:80"',
    'TRUSTED_PROXIES has "10.0.0.0/33"',
    'WEBHOOK_PRIVATE_NETWORKS has "true"',
    'PUBLIC_URL is "ftp://x"',
    'HOST is "example.com"',
    'ALLOW_CLEAR_ALL_SPACES is "yes"',
    'TLS_CERT_FILE and TLS_KEY_FILE should be set together',
    'UPLOAD_PART_BYTES is "5242879": it should be a whole number from 5242880 to 1073741824',
    'S3_REQUEST_TIMEOUT_MS is "99": it should be a whole number from 100 to 3600000',
    'S3_SECRET_ACCESS_KEY is set, but S3_BUCKET is not',
  ]) {
    t.ok(
      found.some((problem) => problem.startsWith(text)),
      `${text} in ${JSON.stringify(found)}`,
    );
  }
});

t.test('a bad secret is not repeated', async (t) => {
  const found = problems({ BOOTSTRAP_TOKEN: 'hunter2 !' });
  t.equal(found.length, 1);
  t.match(found[0], /BOOTSTRAP_TOKEN/);
  t.notMatch(found[0], /hunter2/);
});

t.test('S3 is used as soon as it has a bucket', async (t) => {
  t.strictSame(readConfig({ S3_BUCKET: 'photos' }).s3, {
    bucket: 'photos',
    endpoint: undefined,
    publicEndpoint: undefined,
    region: 'us-east-1',
    credentials: undefined,
    forcePathStyle: false,
    publicBucket: false,
  });
  const own = {
    S3_BUCKET: 'My_photos',
    S3_ENDPOINT: 'https://s3.example.com/base/',
    S3_PUBLIC_ENDPOINT: 'https://objects.example.com/',
    S3_REGION: 'auto',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
  };
  t.strictSame(readConfig(own).s3, {
    bucket: 'My_photos',
    endpoint: 'https://s3.example.com/base',
    publicEndpoint: 'https://objects.example.com',
    region: 'auto',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    forcePathStyle: true,
    publicBucket: false,
  });
  t.equal(readConfig({ ...own, S3_FORCE_PATH_STYLE: 'false' }).s3?.forcePathStyle, false);
  t.equal(readConfig({ S3_BUCKET: 'photos', S3_FORCE_PATH_STYLE: 'true' }).s3?.forcePathStyle, true);
  const open = { S3_BUCKET: 'photos', S3_PUBLIC_BUCKET: 'true' };
  t.equal(readConfig(open).s3?.publicBucket, true);
  t.match(problems({ ...open, FILE_LINKS: 'private' }), [/S3_PUBLIC_BUCKET is true/]);
  t.equal(readConfig({ S3_BUCKET: 'photos', DOWNLOADS: 'redirect' }).downloads, 'redirect');
  t.match(problems({ DOWNLOADS: 'redirect' }), [/DOWNLOADS is redirect, but S3_BUCKET is not set/]);
});

t.test('a ClickHouse server', async (t) => {
  t.equal(readConfig({}).clickhouse, undefined);
  t.strictSame(readConfig({ CLICKHOUSE_URL: 'http://127.0.0.1:8123/' }).clickhouse, {
    stores: ['http://127.0.0.1:8123'],
    user: 'default',
    password: '',
    database: 'sluice',
    caFile: undefined,
    replicated: false,
  });
  t.strictSame(
    readConfig({
      CLICKHOUSE_URL: 'https://clickhouse.example.com:8443/behind/a/proxy',
      CLICKHOUSE_USER: 'sluice',
      CLICKHOUSE_PASSWORD: 'p:ä&%"',
      CLICKHOUSE_DATABASE: 'production_2',
    }).clickhouse,
    {
      stores: ['https://clickhouse.example.com:8443/behind/a/proxy'],
      user: 'sluice',
      password: 'p:ä&%"',
      database: 'production_2',
      caFile: undefined,
      replicated: false,
    },
  );
  const several = readConfig({
    CLICKHOUSE_URL: 'https://a1.example.com:8443/, https://a2.example.com:8443 ; https://b.example.com',
    CLICKHOUSE_CA_FILE: import.meta.filename,
    CLICKHOUSE_REPLICATED: 'true',
  }).clickhouse;
  t.match(several, {
    stores: ['https://a1.example.com:8443,https://a2.example.com:8443', 'https://b.example.com'],
    caFile: import.meta.filename,
    replicated: true,
  });
});

t.test('a password of SMTP_URL that is not percent-encoded is reported, and not shown', async (t) => {
  for (const password of ['a%zz', 'a%C3%28'])
    refuses(t, [[{ SMTP_URL: `smtp://user:${password}@host`, MAIL_FROM: 'a@b.c' }, /SMTP_URL should be an/]]);
});

t.test('bad ClickHouse settings are reported, and no secret with them', async (t) => {
  const url = { CLICKHOUSE_URL: 'http://127.0.0.1:8123' };
  refuses(t, [
    [{ CLICKHOUSE_USER: 'x' }, 'CLICKHOUSE_USER is set, but CLICKHOUSE_URL is not'],
    [{ CLICKHOUSE_PASSWORD: secret }, 'CLICKHOUSE_PASSWORD is set, but CLICKHOUSE_URL is not'],
    [{ CLICKHOUSE_DATABASE: 'x' }, 'CLICKHOUSE_DATABASE is set, but CLICKHOUSE_URL is not'],
    [{ CLICKHOUSE_URL: `http://user:${secret}@host` }, 'CLICKHOUSE_URL should hold no user name'],
    [{ CLICKHOUSE_URL: `http://user:${secret}@host:port` }, 'CLICKHOUSE_URL should be an http or https'],
    [{ CLICKHOUSE_URL: `clickhouse://user:${secret}@host` }, 'CLICKHOUSE_URL should be an http or https'],
    [{ CLICKHOUSE_URL: `http://host/?password=${secret}` }, 'CLICKHOUSE_URL should be an http or https'],
    [{ CLICKHOUSE_URL: 'localhost:8123' }, 'CLICKHOUSE_URL should be an http or https'],
    [{ ...url, CLICKHOUSE_DATABASE: 'a.b' }, 'CLICKHOUSE_DATABASE is "a.b"'],
    [{ ...url, CLICKHOUSE_DATABASE: 'x`; DROP' }, 'CLICKHOUSE_DATABASE is "x`; DROP"'],
    [{ ...url, CLICKHOUSE_DATABASE: 'System' }, 'CLICKHOUSE_DATABASE is "System"'],
    [{ CLICKHOUSE_REPLICATED: 'true' }, 'CLICKHOUSE_REPLICATED is set, but CLICKHOUSE_URL is not'],
    [{ CLICKHOUSE_CA_FILE: '/x' }, 'CLICKHOUSE_CA_FILE is set, but CLICKHOUSE_URL is not'],
    [{ ...url, CLICKHOUSE_REPLICATED: 'yes' }, 'CLICKHOUSE_REPLICATED is "yes"'],
    [{ CLICKHOUSE_URL: 'http://a;http://b,http://a' }, 'CLICKHOUSE_URL names an address twice'],
    [{ CLICKHOUSE_URL: 'http://a;' }, 'CLICKHOUSE_URL should be an http or https'],
    [
      { ...url, CLICKHOUSE_CA_FILE: import.meta.filename },
      'CLICKHOUSE_CA_FILE is set, but CLICKHOUSE_URL has',
    ],
    [
      { CLICKHOUSE_URL: 'https://a', CLICKHOUSE_CA_FILE: '/not/there' },
      `CLICKHOUSE_CA_FILE is "/not/there": it can't be read (ENOENT)`,
    ],
    [{ CLICKHOUSE_URL: 'http://a,http://a/' }, 'CLICKHOUSE_URL names an address twice'],
    [{ CLICKHOUSE_URL: 'http://a,,http://b' }, 'CLICKHOUSE_URL should be an http or https'],
    [{ CLICKHOUSE_URL: `http://a,http://x:${secret}@b` }, 'CLICKHOUSE_URL should hold no user name'],
    [{ WORKERS: '0' }, 'WORKERS is "0": it should be a whole number from 1 to 256'],
    [{ WORKERS: '257' }, 'WORKERS is "257": it should be a whole number from 1 to 256'],
    [
      { WORKERS: '2' },
      'WORKERS is 2, but CLICKHOUSE_URL is not set: the embedded engine serves one process only',
    ],
    [{ DRAIN_DELAY_MS: '-1' }, 'DRAIN_DELAY_MS is "-1": it should be a whole number from 0 to 600000'],
    [
      { METRICS_TOKEN: 'too-short' },
      'METRICS_TOKEN should be 16 to 256 characters of A-Z a-z 0-9 . _ ~ + / = -',
    ],
  ]);
});

t.test('bad S3 settings are reported, and no secret with them', async (t) => {
  refuses(t, [
    [{ S3_ENDPOINT: 'http://x' }, 'S3_ENDPOINT is set, but S3_BUCKET is not'],
    [{ S3_REGION: 'x' }, 'S3_REGION is set, but S3_BUCKET is not'],
    [{ S3_FORCE_PATH_STYLE: 'true' }, 'S3_FORCE_PATH_STYLE is set, but S3_BUCKET is not'],
    [{ S3_BUCKET: 'a/b' }, 'S3_BUCKET is "a/b": it should be the name of a bucket'],
    [
      { S3_BUCKET: 'photos', S3_REGION: 'EU West' },
      'S3_REGION is "EU West": it should be the name of a region',
    ],
    [{ S3_BUCKET: 'photos', S3_ENDPOINT: 's3.example.com' }, 'S3_ENDPOINT is "s3.example.com"'],
    [{ S3_BUCKET: 'photos', S3_ENDPOINT: 'https://s3.example.com?x=1' }, 'S3_ENDPOINT is'],
    [
      { S3_BUCKET: 'photos', S3_ENDPOINT: `https://user:${secret}@s3.example.com` },
      'S3_ENDPOINT should hold no user name and no password',
    ],
    [{ S3_PUBLIC_ENDPOINT: 'http://x' }, 'S3_PUBLIC_ENDPOINT is set, but S3_BUCKET is not'],
    [{ S3_BUCKET: 'photos', S3_PUBLIC_ENDPOINT: 's3.example.com' }, 'S3_PUBLIC_ENDPOINT is "s3.example'],
    [
      { S3_BUCKET: 'photos', S3_PUBLIC_ENDPOINT: `https://user:${secret}@s3.example.com` },
      'S3_PUBLIC_ENDPOINT should hold no user name and no password',
    ],
    [{ S3_BUCKET: 'photos', S3_FORCE_PATH_STYLE: 'no' }, 'S3_FORCE_PATH_STYLE is "no"'],
    [
      { S3_BUCKET: 'photos', S3_SECRET_ACCESS_KEY: secret },
      'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY should be set together',
    ],
    [
      { S3_BUCKET: 'photos', S3_ACCESS_KEY_ID: secret },
      'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY should be set together',
    ],
  ]);
});

t.test('the upload memory must hold the largest part', async (t) => {
  const MiB = 1024 ** 2;
  const s3 = { S3_BUCKET: 'photos' };
  t.strictSame(problems({ ...s3, UPLOAD_MEMORY_BYTES: `${9 * MiB}` }), []);
  t.match(problems({ ...s3, UPLOAD_MEMORY_BYTES: `${9 * MiB - 1}` }), [
    /^UPLOAD_MEMORY_BYTES is 9437183: it should be at least 9437184/,
  ]);
  t.match(problems({ ...s3, UPLOAD_PART_BYTES: `${512 * MiB}` }), [/it should be at least 537919488/]);
  // one that needs larger parts than the memory holds, and the value that is asked for
  const huge = { ...s3, MAX_UPLOAD_BYTES: `${5 * 1024 ** 4}` };
  const [problem = ''] = problems(huge);
  const [, needed = ''] = /at least (\d+)/.exec(problem) ?? [];
  t.strictSame(problems({ ...huge, UPLOAD_MEMORY_BYTES: needed }), []);
  t.equal(problems({ ...huge, UPLOAD_MEMORY_BYTES: `${Number(needed) - 1}` }).length, 1);
  // files on the file system come in parts of 1 MiB, however large they are
  t.strictSame(problems({ MAX_UPLOAD_BYTES: `${5 * 1024 ** 4}`, UPLOAD_MEMORY_BYTES: `${2 * MiB}` }), []);
  t.match(problems({ UPLOAD_MEMORY_BYTES: `${2 * MiB - 1}` }), [/at least 2097152/]);
});

t.test('lists, addresses and files are read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  writeFileSync(join(folder, 'cert.pem'), '');
  const config = readConfig({
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    CORS_ORIGINS: 'https://a.example,http://localhost:3000',
    ALLOWED_HOSTS: 'files.internal,Other.internal',
    PUBLIC_URL: 'https://api.example.com/base/',
    TLS_CERT_FILE: join(folder, 'cert.pem'),
    TLS_KEY_FILE: join(folder, 'cert.pem'),
  });
  t.ok(config.trustedProxies?.check('10.1.2.3'));
  t.notOk(config.trustedProxies?.check('11.1.2.3'));
  t.ok(config.trustedProxies?.check('::1', 'ipv6'));
  t.strictSame(config.corsOrigins, ['https://a.example', 'http://localhost:3000']);
  t.strictSame(config.allowedHosts, ['files.internal', 'Other.internal']);
  t.equal(config.publicUrl, 'https://api.example.com/base');
  t.match(problems({ TLS_CERT_FILE: '/none', TLS_KEY_FILE: '/none' }), [
    /TLS_CERT_FILE.*ENOENT/,
    /TLS_KEY_FILE/,
  ]);
});

t.test('login tokens: a secret that is long enough, and is never repeated', async (t) => {
  t.match(readConfig({}), { loginTokenSecret: undefined, loginTokenTtl: 129_600_000 });
  const secret = 'k'.repeat(32);
  t.match(readConfig({ LOGIN_TOKEN_SECRET: secret, LOGIN_TOKEN_TTL_MS: '1000' }), {
    loginTokenSecret: secret,
    loginTokenTtl: 1000,
  });
  for (const bad of ['hush-hush', 'k'.repeat(1025)]) {
    const found = problems({ LOGIN_TOKEN_SECRET: bad, LOGIN_TOKEN_TTL_MS: '999' });
    t.match(found, [/^LOGIN_TOKEN_SECRET should be 32 to 1024/, /^LOGIN_TOKEN_TTL_MS is "999"/]);
    t.notMatch(found.join(), bad);
  }
});

t.test('REDIS_URL is read, and a bad one is never repeated', async (t) => {
  t.equal(readConfig({}).redis, undefined);
  const login = { tls: false, ca: undefined, username: undefined, password: undefined };
  const local = { mode: 'standalone', ...login, host: 'redis', port: 6379, db: 0 };
  for (const [url, parts] of [
    ['redis://redis', {}],
    ['redis://redis/', {}],
    ['redis://redis:6380/15', { port: 6380, db: 15 }],
    ['rediss://cache.example.com', { host: 'cache.example.com', tls: true }],
    ['redis://:p%40ss%2F@redis', { password: 'p@ss/' }],
    ['redis://ann:p%25w@[::1]:7/1', { host: '::1', port: 7, username: 'ann', password: 'p%w', db: 1 }],
  ] as const) {
    t.strictSame(readConfig({ REDIS_URL: url }).redis, { ...local, ...parts }, url);
  }
  t.strictSame(readConfig({ REDIS_URL: 'redis://r', REDIS_USERNAME: 'ann', REDIS_PASSWORD: 'p' }).redis, {
    ...local,
    host: 'r',
    username: 'ann',
    password: 'p',
  });
  for (const bad of [
    'hunter2',
    'http://:hunter2@redis',
    'redis://',
    'redis:///1',
    'redis://:hunter2@redis/x',
    'redis://:hunter2@redis/16384',
    'redis://:hunter2@redis/1/2',
    'redis://:hunter2@redis?db=1',
    'redis://:hunter2@redis#1',
    'redis://:hunter2%zz@redis',
    'redis://hunter2@redis',
    'redis://:hunter2@redis:99999',
  ]) {
    const found = problems({ REDIS_URL: bad });
    t.match(found, [/^REDIS_URL should be redis:\/\//], bad);
    t.notMatch(found.join(), /hunter2/);
  }
});

t.test('Redis behind Sentinels, and as a cluster', async (t) => {
  const login = { tls: false, ca: undefined, username: undefined, password: undefined };
  const sentinel = {
    mode: 'sentinel',
    ...login,
    sentinels: [
      { host: 'a', port: 26_379 },
      { host: '::1', port: 7 },
    ],
    name: 'main',
    sentinelUsername: undefined,
    sentinelPassword: undefined,
    db: 0,
  };
  const sentinels = { REDIS_SENTINELS: 'a, [::1]:7', REDIS_SENTINEL_NAME: 'main' };
  t.strictSame(readConfig(sentinels).redis, sentinel);
  t.strictSame(
    readConfig({
      ...sentinels,
      REDIS_SENTINEL_USERNAME: 's',
      REDIS_SENTINEL_PASSWORD: 'sp',
      REDIS_DATABASE: '3',
      REDIS_USERNAME: 'u',
      REDIS_PASSWORD: 'p',
      REDIS_TLS: 'true',
    }).redis,
    {
      ...sentinel,
      sentinelUsername: 's',
      sentinelPassword: 'sp',
      db: 3,
      username: 'u',
      password: 'p',
      tls: true,
    },
  );
  t.strictSame(readConfig({ REDIS_CLUSTER_NODES: 'a:1,b' }).redis, {
    mode: 'cluster',
    ...login,
    nodes: [
      { host: 'a', port: 1 },
      { host: 'b', port: 6379 },
    ],
  });
  const folder = mkdtempSync(join(tmpdir(), 'sluice-ca-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nx');
  t.match(readConfig({ REDIS_URL: 'rediss://r', REDIS_TLS_CA_FILE: file }).redis, { ca: /BEGIN/ });

  refuses(t, [
    [{ REDIS_URL: 'redis://r', REDIS_CLUSTER_NODES: 'a' }, /REDIS_URL and REDIS_CLUSTER_NODES are set/],
    [{ REDIS_SENTINELS: 'a' }, /REDIS_SENTINEL_NAME/],
    [{ REDIS_SENTINELS: 'a:0', REDIS_SENTINEL_NAME: 'm' }, /host:port/],
    [{ REDIS_CLUSTER_NODES: 'redis://a' }, /host:port/],
    [{ REDIS_CLUSTER_NODES: 'u:p@a' }, /host:port/],
    [{ REDIS_CLUSTER_NODES: 'a', REDIS_DATABASE: '1' }, /REDIS_DATABASE is set, but/],
    [{ REDIS_CLUSTER_NODES: 'a', REDIS_SENTINEL_NAME: 'm' }, /REDIS_SENTINEL_NAME is set, but/],
    [{ REDIS_CLUSTER_NODES: 'a', REDIS_USERNAME: 'u' }, /REDIS_PASSWORD is not/],
    [{ REDIS_PASSWORD: 'hunter2' }, /REDIS_PASSWORD is set, but none of/],
    [{ REDIS_URL: 'redis://:hunter2@r', REDIS_PASSWORD: 'hunter2' }, /has a password too/],
    [{ REDIS_URL: 'redis://r', REDIS_TLS: 'true' }, /REDIS_TLS is set, but/],
    [{ REDIS_URL: 'redis://r', REDIS_TLS_CA_FILE: file }, /without TLS/],
    [{ REDIS_URL: 'rediss://r', REDIS_TLS_CA_FILE: join(folder, 'none') }, /ENOENT/],
    [{ REDIS_URL: 'rediss://r', REDIS_TLS_CA_FILE: resolve('package.json') }, /PEM/],
  ]);
});

t.test('traces: on where a collector is named, and by the names of OpenTelemetry', async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
  t.equal(readConfig({}).tracing, undefined);
  t.match(readConfig(endpoint).tracing, { protocol: 'http/protobuf', secrets: [] });
  t.match(
    readConfig({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c2VjcmV0, x-key=other-secret',
    }).tracing,
    { protocol: 'http/json', secrets: ['Basic%20c2VjcmV0', 'Basic c2VjcmV0', 'other-secret'] },
  );
  for (const off of [{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }]) {
    t.equal(readConfig({ ...endpoint, ...off }).tracing, undefined);
  }
  t.equal(readConfig({ OTEL_SERVICE_NAME: 'sluice', OTEL_TRACES_SAMPLER: 'always_on' }).tracing, undefined);
  for (const [key, value] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ] as const) {
    const { problems } = thrownBy(() => readConfig({ ...endpoint, [key]: value })) as ConfigError;
    t.match(problems, [new RegExp(`^${key} is `)], key);
  }
  const [batch, queue] = ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'OTEL_BSP_MAX_QUEUE_SIZE'];
  const tooLarge = thrownBy(() => readConfig({ ...endpoint, [batch]: '4096' })) as ConfigError;
  t.match(tooLarge.problems, [/^OTEL_BSP_MAX_EXPORT_BATCH_SIZE is "4096": it should be .* from 1 to 2048/]);
  t.ok(readConfig({ ...endpoint, [batch]: '4096', [queue]: '4096' }).tracing);
  t.ok(readConfig({ ...endpoint, [queue]: '100' }).tracing, 'a batch without a size fits any queue');
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' };
  const { problems } = thrownBy(() => readConfig({ ...endpoint, ...ratio })) as ConfigError;
  t.match(problems, [/^OTEL_TRACES_SAMPLER_ARG is "2"/]);
});

t.test('rate limits and quotas', async (t) => {
  const env = { TOKEN_RATE: '10', TOKEN_BURST: '20', ADDRESS_MAX_IN_FLIGHT: '30', MAX_STORED_BYTES: '40' };
  t.match(readConfig(env), {
    tokenLimits: { rate: 10, burst: 20, inFlight: 0 },
    addressLimits: { rate: 0, burst: 100, inFlight: 30 },
    storageQuota: { files: 0, bytes: 40 },
  });
  t.match(problems({ ADDRESS_RATE: '-1' })[0], /^ADDRESS_RATE is "-1"/);
  t.match(problems({ TOKEN_BURST: '0' })[0], /^TOKEN_BURST is "0"/);
});
