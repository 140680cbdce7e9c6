import { BlockList, isIP } from 'node:net';
import { type ImagePreset, mostPresets, parseImagePreset, presetForm } from './image-presets.ts';
import { longestExpiry } from './longest-expiry.ts';
import {
  baseUrl,
  flag,
  integer,
  isBaseUrl,
  list,
  oneOf,
  parsed,
  text,
  type Values,
  type Variable,
  variable,
} from './variable.ts';

/**
 * The variables, except for stores and traces, by the headings of docs/configuration.md. That page explains
 * each variable.
 */

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
  variables: {
    host: text('HOST', {
      fallback: '127.0.0.1',
      fits: (given) => isIP(given) !== 0 || given === 'localhost',
      form: 'an IP address or localhost',
    }),
    port: integer('PORT', 8080, [0, 65_535]),
    publicUrl: baseUrl('PUBLIC_URL', 'from HOST and PORT'),
    allowedHosts: list('ALLOWED_HOSTS', [], {
      parse: (host) => (/^[A-Za-z0-9.-]{1,253}$/.test(host) ? host : undefined),
      form: 'a name such as files.internal, without a port',
    }),
    tls: {
      certFile: text('TLS_CERT_FILE'),
      keyFile: text('TLS_KEY_FILE'),
    },
    trustedProxies: networks('TRUSTED_PROXIES'),
    corsOrigins: list('CORS_ORIGINS', ['*'], {
      parse: (origin) =>
        origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin) ? origin : undefined,
      form: '* or an origin such as https://app.example.com',
    }),
    compressAnswers: flag('COMPRESS_ANSWERS', true),
  },
};

export const accounts = {
  title: 'Data and accounts',
  variables: {
    dataDir: text('DATA_DIR', { fallback: './data' }),
    bootstrapToken: text('BOOTSTRAP_TOKEN', { ...token, shown: 'random, printed once' }),
    registration: oneOf('REGISTRATION', 'first', ['first', 'open', 'closed']),
    consoleApiUrl: baseUrl('CONSOLE_API_URL', 'its own address'),
    oidc: {
      issuer: text('OIDC_ISSUER', { fits: isBaseUrl, form: 'an http or https address without query' }),
      clientId: text('OIDC_CLIENT_ID'),
      clientSecret: text('OIDC_CLIENT_SECRET', { secret: true }),
    },
    loginTokenSecret: text('LOGIN_TOKEN_SECRET', {
      secret: true,
      fits: ({ length }) => length >= shortestSecret && length <= longestSecret,
      form: `${shortestSecret} to ${longestSecret} characters, better random ones`,
      shown: 'a key in the store',
    }),
    loginTokenTtl: integer('LOGIN_TOKEN_TTL_MS', 36 * hour, [second, 366 * day]),
    allowClearAllSpaces: flag('ALLOW_CLEAR_ALL_SPACES', false),
  },
};

export const files = {
  title: 'Files',
  variables: {
    maxUploadBytes: integer('MAX_UPLOAD_BYTES', 100_000_000, [1, 5 * 1024 * gibibyte]),
    maxDirectBytes: integer('MAX_DIRECT_BYTES', 5 * 1024 * gibibyte, [1, 5 * 1024 * gibibyte]),
    downloads: oneOf('DOWNLOADS', 'proxy', ['proxy', 'redirect']),
    fileLinks: oneOf('FILE_LINKS', 'public', ['public', 'private']),
    filesTtl: integer('FILES_TTL', 0, [0, longestExpiry]),
    trashDays: integer('TRASH_DAYS', 0, [0, 3650]),
    digest: oneOf('DIGEST', 'none', ['none', 'sha-256']),
    publicFilesUrl: baseUrl('PUBLIC_FILES_URL'),
    uploadMemoryBytes: integer('UPLOAD_MEMORY_BYTES', 256 * mebibyte, [mebibyte, 1024 * gibibyte]),
    fileCacheBytes: integer('FILE_CACHE_BYTES', 64 * mebibyte, [0, 64 * gibibyte]),
    // S3's minimum for every part but the last
    uploadPartBytes: integer('UPLOAD_PART_BYTES', 8 * mebibyte, [5 * mebibyte, gibibyte]),
    uploadMinRate: integer('UPLOAD_MIN_RATE', 8192, [0, gibibyte]),
    uploadMinRatePeriod: integer('UPLOAD_MIN_RATE_PERIOD_MS', 5 * second, [second, hour]),
    uploadWaitTimeout: integer('UPLOAD_WAIT_TIMEOUT_MS', 60 * second, [100, hour]),
    imagePresets: imagePresets('IMAGE_PRESETS'),
    imageMemoryBytes: integer('IMAGE_MEMORY_BYTES', 384 * mebibyte, [128 * mebibyte, 16 * gibibyte]),
    janitorStaleAfter: integer('JANITOR_STALE_AFTER_MS', day, [second, 30 * day]),
    janitorGrace: integer('JANITOR_GRACE_MS', 900 * second, [second, day]),
    janitorInterval: integer('JANITOR_INTERVAL_MS', hour, [second, day]),
  },
};

/** Virus scanner of files. */
export const scanner = {
  title: 'Virus scanner',
  variables: {
    scan: {
      clamdAddress: parsed('CLAMD_ADDRESS', {
        parse: parseClamdAddress,
        form: 'host:port, or unix: and the path of a socket',
        fallback: undefined,
      }),
      policy: oneOf('SCAN_POLICY', 'hold', ['refuse', 'hold', 'publish']),
      // clamd's own default of StreamMaxLength
      maxBytes: integer('SCAN_MAX_BYTES', 100 * mebibyte, [1, 4 * gibibyte]),
      timeout: integer('SCAN_TIMEOUT_MS', 30 * second, [second, hour]),
      quarantineDays: integer('QUARANTINE_DAYS', 30, [1, 3650]),
    },
  },
};

const mostRequests = 1_000_000;

function requestLimits(prefix: 'TOKEN' | 'ADDRESS') {
  return {
    rate: integer(`${prefix}_RATE`, 0, [0, mostRequests]),
    burst: integer(`${prefix}_BURST`, 100, [1, mostRequests]),
    inFlight: integer(`${prefix}_MAX_IN_FLIGHT`, 0, [0, mostRequests]),
  };
}

/** Limits of a sender. 0: no limit; the burst is at least 1. */
export type RequestLimits = Values<ReturnType<typeof requestLimits>>;

export const limits = {
  title: 'Rate limits and quotas',
  variables: {
    tokenLimits: requestLimits('TOKEN'),
    addressLimits: requestLimits('ADDRESS'),
    storageQuota: {
      files: integer('MAX_STORED_FILES', 0, [0, 1_000_000_000]),
      bytes: integer('MAX_STORED_BYTES', 0, [0, 2 ** 50]),
    },
    maxOpenUploads: integer('MAX_OPEN_UPLOADS', 1000, [1, 100_000]),
    maxStoredRecordBytes: integer('MAX_STORED_RECORD_BYTES', 0, [0, 2 ** 50]),
    liveMaxStreams: integer('LIVE_MAX_STREAMS', 10_000, [0, mostRequests]),
    liveMaxTokenStreams: integer('LIVE_MAX_TOKEN_STREAMS', 1000, [0, mostRequests]),
  },
};

export const readLimitDefaults = { timeout: 30_000, minRate: 16_384, minRatePeriod: 10_000 };

const readLimits = {
  timeout: integer('READ_TIMEOUT_MS', readLimitDefaults.timeout, [100, hour]),
  minRate: integer('READ_MIN_RATE', readLimitDefaults.minRate, [0, gibibyte]),
  minRatePeriod: integer('READ_MIN_RATE_PERIOD_MS', readLimitDefaults.minRatePeriod, [100, hour]),
};

/** Limits of clients' reads. */
export type ReadLimits = Values<typeof readLimits>;

export const records = {
  title: 'Records',
  variables: {
    maxRecordBytes: integer('MAX_RECORD_BYTES', mebibyte, [kibibyte, 64 * mebibyte]),
    maxRecordsBytes: integer('MAX_RECORDS_BYTES', 16 * mebibyte, [kibibyte, 256 * mebibyte]),
    maxImportBytes: integer('MAX_IMPORT_BYTES', 4 * gibibyte, [kibibyte, 1024 * gibibyte]),
    maxSpaces: integer('MAX_SPACES', 10_000, [1, 10_000_000]),
    maxProjects: integer('MAX_PROJECTS', 1000, [1, 10_000_000]),
    recordCacheBytes: integer(
      'RECORD_CACHE_BYTES',
      undefined,
      [0, 64 * gibibyte],
      'a 32nd of the memory, from 64 MiB to 4 GiB',
    ),
    webhookPrivateNetworks: networks('WEBHOOK_PRIVATE_NETWORKS'),
    readLimits,
    readMaxRows: integer('READ_MAX_ROWS', 100_000_000, [0, 1e15]),
  },
};

export const mails = {
  title: 'E-mail',
  variables: {
    smtpUrl: text('SMTP_URL', {
      secret: true,
      fits: (given) => /^smtps?:\/\/[^/]/.test(given) && URL.canParse(given) && isPercentEncoded(given),
      form: 'an address such as smtp://user:password@mail.example.com:587, or smtps://, percent-encoded',
    }),
    mailFrom: text('MAIL_FROM', {
      fits: (given) => /^(?:[^<>@,;:"\\\p{C}]{1,100} <)?[^<>@\s,;:"\\]+@[^<>@\s,;:"\\]+>?$/u.test(given),
      form: 'an address such as Photo wall <wall@example.com>',
    }),
    mailsPerHour: integer('MAILS_PER_HOUR', 1000, [1, mostRequests]),
  },
};

export const processes = {
  title: 'Processes and timeouts',
  variables: {
    // more than any machine for this service has cores
    workers: integer('WORKERS', 1, [1, 256]),
    bodyIdleTimeout: integer('BODY_IDLE_TIMEOUT_MS', 60 * second, [100, hour]),
    requestTimeout: integer('REQUEST_TIMEOUT_MS', 60 * second, [100, hour]),
    drainDelay: integer('DRAIN_DELAY_MS', 0, [0, 600 * second]),
    drainTimeout: integer('DRAIN_TIMEOUT_MS', 10 * second, [0, hour]),
  },
};

export const logs = {
  title: 'Logs and metrics',
  variables: {
    logLevel: oneOf('LOG_LEVEL', 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    metricsToken: text('METRICS_TOKEN', token),
  },
};

/** `path` of a Unix socket, or host and port. */
function parseClamdAddress(text: string): { path: string } | { host: string; port: number } | undefined {
  const path = /^unix:(\/[^\0]{1,106})$/.exec(text)?.[1];
  if (path !== undefined) return { path };
  const [, bracketed, name, digits] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? name;
  const port = Number(digits);
  if (host === undefined || !(port >= 1 && port <= 65_535)) return undefined;
  return bracketed !== undefined && isIP(bracketed) !== 6 ? undefined : { host, port };
}

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** A variable that lists sizes of pictures. */
function imagePresets(name: string): Variable<readonly ImagePreset[]> {
  const { read } = list(name, [], { parse: parseImagePreset, form: presetForm });
  return variable(name, (text, problems) => {
    const presets = read(text, problems);
    const names = presets.map((preset) => preset.name);
    const twice = names.find((one, at) => names.indexOf(one) !== at);
    if (twice !== undefined) problems.push(`${name} has ${twice} twice`);
    if (presets.length > mostPresets)
      problems.push(`${name} has ${presets.length} presets: it should have at most ${mostPresets}`);
    return presets;
  });
}

/** A variable that lists networks; undefined: not set. */
function networks(name: string): Variable<BlockList | undefined> {
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

/** Whether user and password can be read: a bare `%` is no part of them. */
function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
