/** What the pages say of an environment variable that the code does not know: its meaning, and a default in words. */
export interface VariableText {
  readonly meaning: string;
  /** Where the code has no plain default. */
  readonly default?: string;
}

export interface VariableGroup {
  readonly title: string;
  readonly text?: string;
  readonly variables: Readonly<Record<string, VariableText>>;
}

const otlp = 'https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/';

export const variableGroups: readonly VariableGroup[] = [
  {
    title: 'Address',
    text: 'Requests from other machines must use HTTPS: set the two TLS files, or TRUSTED_PROXIES for a proxy that terminates HTTPS ([reverse-proxies.md](reverse-proxies.md)).',
    variables: {
      HOST: { default: '127.0.0.1', meaning: 'the IP address to listen on, or `localhost`' },
      PORT: { meaning: 'the port to listen on; 0 takes any free port and prints it' },
      PUBLIC_URL: { default: 'from HOST and PORT', meaning: 'the base address that clients see' },
      ALLOWED_HOSTS: {
        meaning:
          'names with a dot by which this machine asks itself over plain HTTP, besides that of PUBLIC_URL, separated by commas; any other one is refused, because a web page can have its own name resolved to this machine',
      },
      TLS_CERT_FILE: {
        meaning: 'the certificate, a PEM file; with TLS_KEY_FILE the server speaks HTTPS',
      },
      TLS_KEY_FILE: { meaning: 'the key of the certificate, a PEM file' },
      TRUSTED_PROXIES: {
        meaning:
          'proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are believed, as addresses or CIDRs separated by commas; a proxy on this machine (127.0.0.1) must be listed too',
      },
      CORS_ORIGINS: { default: '*', meaning: 'origins whose pages may call the API, separated by commas' },
    },
  },
  {
    title: 'Data and accounts',
    variables: {
      DATA_DIR: {
        default: './data',
        meaning: 'where the database and the files are kept, unless they are elsewhere',
      },
      BOOTSTRAP_TOKEN: {
        default: 'random, printed once',
        meaning: 'the first access token of an empty store, 16 to 256 characters',
      },
      REGISTRATION: {
        meaning:
          'who may register in the dashboard: `first`, the first person, while the only account is the one that the first start created; `open`, everybody; `closed`, nobody',
      },
      CONSOLE_API_URL: {
        default: 'its own address',
        meaning:
          'the base address of the API, if the dashboard has another one; CORS_ORIGINS must then allow that of the dashboard',
      },
      LOGIN_TOKEN_SECRET: {
        default: 'a key in the store',
        meaning:
          'signs login tokens, 32 to 1024 characters. Processes that share it accept each other’s tokens; changing it ends all of them',
      },
      LOGIN_TOKEN_TTL_MS: { meaning: 'how long a login token is valid' },
      ALLOW_CLEAR_ALL_SPACES: {
        meaning: 'whether `clear-all-spaces: true` may delete all records of a project',
      },
    },
  },
  {
    title: 'Files',
    variables: {
      MAX_UPLOAD_BYTES: { meaning: 'the largest file that may be uploaded; larger ones get 413' },
      FILE_LINKS: {
        meaning:
          '`public`: anyone who has an s3Link can read the file. `private`: it takes the owner’s token, or a link that expires',
      },
      PUBLIC_FILES_URL: {
        meaning:
          'base of s3Link when something else, such as a CDN, serves the files. It then decides who may read them; FILE_LINKS applies to the gateway only',
      },
      UPLOAD_MEMORY_BYTES: {
        meaning: 'memory for all uploads of a process; an upload waits while none is free',
      },
      UPLOAD_PART_BYTES: {
        meaning: 'size of a part in S3; larger for files that would need more than 10,000 parts',
      },
      UPLOAD_MIN_RATE: {
        meaning:
          'bytes a second: an upload slower than this over UPLOAD_MIN_RATE_PERIOD_MS is cut (408) while others wait for memory',
      },
      UPLOAD_MIN_RATE_PERIOD_MS: { meaning: 'the period over which that rate is measured' },
      UPLOAD_WAIT_TIMEOUT_MS: {
        meaning: 'an upload that waits for memory gets 503 after this long without any progress',
      },
      JANITOR_STALE_AFTER_MS: { meaning: 'an upload without a new part for this long is aborted' },
      JANITOR_GRACE_MS: {
        meaning:
          'files and rows younger than this are left alone. Also the least time between the two checks after which a row without its file is removed',
      },
      JANITOR_INTERVAL_MS: { meaning: 'time between two runs of the janitor' },
    },
  },
  {
    title: 'Rate limits and quotas',
    variables: {
      TOKEN_RATE: { meaning: 'requests a second of one access token; more get 429. 0: no limit' },
      TOKEN_BURST: { meaning: 'requests that it may send at once after a pause' },
      TOKEN_MAX_IN_FLIGHT: { meaning: 'requests in flight of one access token. 0: no limit' },
      ADDRESS_RATE: {
        meaning: 'requests a second of one address, with any token; more get 429. 0: no limit',
      },
      ADDRESS_BURST: { meaning: 'requests that it may send at once after a pause' },
      ADDRESS_MAX_IN_FLIGHT: { meaning: 'requests in flight of one address. 0: no limit' },
      MAX_STORED_FILES: { meaning: 'files that one account may store; more get 403. 0: no limit' },
      MAX_STORED_BYTES: {
        meaning:
          'bytes of files, and of uploads that are not complete, that one account may store; more get 403. 0: no limit',
      },
      MAX_OPEN_UPLOADS: {
        meaning: 'uploads of one account that are not complete, and can go on; more get 403',
      },
      MAX_STORED_RECORD_BYTES: {
        meaning:
          'bytes of records that one account may store: their values as text, and 64 for each record; more get 403. 0: no limit',
      },
    },
  },
  {
    title: 'Records',
    variables: {
      MAX_RECORD_BYTES: { meaning: 'the largest body of a request with one record' },
      MAX_RECORDS_BYTES: { meaning: 'the largest body of a request with an array of records' },
      MAX_SPACES: { meaning: 'record spaces that one account may have; more get 403' },
      MAX_PROJECTS: { meaning: 'projects that one account may have; more get 403' },
      RECORD_CACHE_BYTES: {
        default: 'a 32nd of the memory, from 64 MiB to 4 GiB',
        meaning:
          'memory for records and answers of reads: in a process that has its store to itself three quarters are for the records of spaces that are asked often, some 300 bytes for one of 8 short fields; with CLICKHOUSE_URL it needs REDIS_URL; 0 keeps none',
      },
      WEBHOOK_PRIVATE_NETWORKS: {
        meaning:
          'addresses or CIDRs of private networks that webhooks may call, separated by commas; others are refused',
      },
      READ_TIMEOUT_MS: {
        meaning:
          'how long the engine may work on one read, or on the next bytes of a list; then 503 `deadline_exceeded`',
      },
      READ_MIN_RATE: {
        meaning:
          'bytes a second: a list that its client reads more slowly over READ_MIN_RATE_PERIOD_MS is cut while others wait',
      },
      READ_MIN_RATE_PERIOD_MS: { meaning: 'the period over which that rate is measured' },
    },
  },
  {
    title: 'S3',
    text: 'With S3_BUCKET, files are stored in a bucket.',
    variables: {
      S3_BUCKET: { meaning: 'the bucket' },
      S3_ENDPOINT: { default: 'AWS', meaning: 'address of another S3 server' },
      S3_REGION: { default: 'us-east-1', meaning: 'the region of the bucket' },
      S3_ACCESS_KEY_ID: {
        default: 'the AWS SDK’s usual chain',
        meaning:
          'the key id; without it the SDK looks in the environment, in files and at the instance’s role',
      },
      S3_SECRET_ACCESS_KEY: { meaning: 'the secret of the key' },
      S3_FORCE_PATH_STYLE: {
        default: 'true with S3_ENDPOINT, else false',
        meaning: 'whether the bucket is in the path instead of the host name',
      },
      S3_PUBLIC_BUCKET: {
        meaning:
          'whether the bucket is public; an s3Link is then the object’s own address. Not with FILE_LINKS=private',
      },
      S3_REQUEST_TIMEOUT_MS: {
        meaning:
          'how long a request to S3 may take, with all retries. When S3 answers nothing at all for a quarter of it, requests that need files get a 503',
      },
    },
  },
  {
    title: 'ClickHouse',
    text: 'With CLICKHOUSE_URL, records and accounts are kept on a ClickHouse server ([clickhouse.md](clickhouse.md)).',
    variables: {
      CLICKHOUSE_URL: {
        meaning:
          'http or https address of a server (25.11 or later), without user and password. Or addresses of several servers with the same data, separated by commas and spelled the same for all processes',
      },
      CLICKHOUSE_USER: { default: 'default', meaning: 'the user' },
      CLICKHOUSE_PASSWORD: { default: 'none', meaning: 'the password of that user' },
      CLICKHOUSE_DATABASE: {
        default: 'sluice',
        meaning: 'the database for all tables; created if it does not exist',
      },
      CLICKHOUSE_CA_FILE: {
        default: 'Node’s own list',
        meaning: 'the authority that signed the servers’ certificates, a PEM file',
      },
      CLICKHOUSE_CLUSTER: {
        meaning:
          '*experimental*: the cluster, as named in `system.clusters`, over which tables are replicated and sharded',
      },
      CLICKHOUSE_EXPERIMENTAL_CLUSTER: {
        meaning: 'must be `true` for CLICKHOUSE_CLUSTER, which has not been tested on a real cluster',
      },
    },
  },
  {
    title: 'Redis',
    text: 'Redis 7.0 or later, or Valkey, for what several processes must agree on ([redis.md](redis.md)). Set one of the first three variables.',
    variables: {
      REDIS_URL: {
        meaning:
          '`redis://[[user]:password@]host[:port][/database]`, or `rediss://` for TLS; a database for Sluice alone',
      },
      REDIS_SENTINELS: { meaning: 'Sentinels, as `host[:port]` separated by commas' },
      REDIS_CLUSTER_NODES: { meaning: 'some nodes of a Redis Cluster, as `host[:port]` separated by commas' },
      REDIS_SENTINEL_NAME: { meaning: 'the name by which Sentinels know the master' },
      REDIS_SENTINEL_USERNAME: { meaning: 'the user at the Sentinels' },
      REDIS_SENTINEL_PASSWORD: { meaning: 'the password of that user' },
      REDIS_DATABASE: { meaning: 'the database behind Sentinels' },
      REDIS_USERNAME: { meaning: 'the user, if REDIS_URL does not name it' },
      REDIS_PASSWORD: { meaning: 'the password of that user' },
      REDIS_TLS: { meaning: 'whether Sentinels and clusters speak TLS' },
      REDIS_TLS_CA_FILE: {
        default: 'the system’s authorities',
        meaning: 'the only certificates that are trusted, a PEM file; also with `rediss://`',
      },
    },
  },
  {
    title: 'Processes and timeouts',
    variables: {
      WORKERS: {
        meaning:
          'worker processes on one port; more than one needs CLICKHOUSE_URL. At most one a core is useful',
      },
      BODY_IDLE_TIMEOUT_MS: {
        meaning:
          'a request body without a byte for this long gets 408; an answer that is not read for this long is cut',
      },
      REQUEST_TIMEOUT_MS: { meaning: 'a request that is not answered within this time gets 503' },
      DRAIN_DELAY_MS: {
        meaning:
          'how long requests are still served after SIGTERM while `/readyz` answers 503, so that a load balancer can react',
      },
      DRAIN_TIMEOUT_MS: { meaning: 'how long requests in progress may take after that' },
    },
  },
  {
    title: 'Logs and metrics',
    variables: {
      LOG_LEVEL: {
        meaning:
          'the lowest level that is logged. On a terminal lines are plain text, elsewhere JSON ([operations.md](operations.md#logs))',
      },
      METRICS_TOKEN: {
        meaning:
          'the bearer token for `/metrics`; without it only this machine may read them, and not through a proxy',
      },
    },
  },
  {
    title: 'Traces',
    text: `OpenTelemetry’s own variables ([what they mean](${otlp})). Nothing is traced, and nothing of OpenTelemetry is loaded, while no endpoint is set.`,
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT: {
        meaning: 'base address of a collector that speaks OTLP over HTTP, such as `http://collector:4318`',
      },
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { meaning: 'the same for traces alone, with the whole path' },
      OTEL_EXPORTER_OTLP_PROTOCOL: { meaning: 'the protocol; gRPC is not supported' },
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: {
        default: 'OTEL_EXPORTER_OTLP_PROTOCOL',
        meaning: 'the same for traces alone',
      },
      OTEL_EXPORTER_OTLP_HEADERS: {
        meaning: 'headers for the collector, as `name=value` separated by commas; values are never logged',
      },
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: { meaning: 'the same for traces alone' },
      OTEL_EXPORTER_OTLP_TIMEOUT: { meaning: 'milliseconds for a batch of spans' },
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: { meaning: 'the same for traces alone' },
      OTEL_SERVICE_NAME: { default: 'sluice', meaning: 'the name of the service in traces' },
      OTEL_RESOURCE_ATTRIBUTES: { meaning: 'further attributes, as `name=value` separated by commas' },
      OTEL_TRACES_SAMPLER: { meaning: 'which traces are kept' },
      OTEL_TRACES_SAMPLER_ARG: {
        default: '1',
        meaning: 'the share of traces that a `traceidratio` sampler keeps',
      },
      OTEL_TRACES_EXPORTER: { meaning: '`none` switches traces off' },
      OTEL_SDK_DISABLED: { meaning: '`true` switches traces off' },
      OTEL_BSP_SCHEDULE_DELAY: { meaning: 'milliseconds between two batches of spans' },
      OTEL_BSP_EXPORT_TIMEOUT: { default: '30000', meaning: 'milliseconds until a batch is given up' },
      OTEL_BSP_MAX_QUEUE_SIZE: { meaning: 'size of the queue of spans; more are dropped' },
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: { meaning: 'spans in a batch' },
    },
  },
];
