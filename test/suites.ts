import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Test files that are run together: `npm test -- NAME`. */
export interface Suite {
  /** Paths from the root of the repository; a `*` stands for the beginning of a name. */
  readonly files: readonly string[];
  /** How many files run at once. */
  readonly jobs: number;
  /** Of a file. Seconds. */
  readonly timeout?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** A folder with a package.json of its own, which is installed first. */
  readonly install?: string;
  /** A real S3 server that runs beside them. */
  readonly s3?: 'ceph' | 'versity';
}

const core = ['unit', 'acceptance', 'integration', 'client'].map((folder) => `test/${folder}/*.test.ts`);
/** What an engine may answer in its own way. */
const servedFiles = [
  // which waits for other processes to hear of a space
  'query-spaces',
  ...['filters', 'query-filters', 'query-aggregate', 'query-unique', 'query-records', 'query-populate'],
  ...['query-clear', 'query-search', 'query-find-by-body', 'query-keys', 'query-login', 'login-ends'],
  ...['rules', 'sign-up', 'sign-up-settings', 'file-fields'],
  ...['next-pages', 'normalize', 'rfc3339-sql', 'increments', 'types-everywhere'],
].map((name) => `test/integration/${name}.test.ts`);
const servedFullFiles = [
  'query-aggregate-oracle',
  'idempotent-inserts',
  'query-updates',
  'query-initial-data',
  'rules-oracle',
  'value-index',
].map((name) => `test/integration/${name}.full.ts`);
/** The clients of docs/uploads.md. */
const uploadSamples = ['uploads', 'uppy-bucket', 'tuspy', 'python-bucket'].map(
  (name) => `test/docs/${name}.test.ts`,
);

export const suites: Readonly<Record<string, Suite>> = {
  /** What `npm test` alone runs. */
  default: { jobs: 3, files: core },
  all: {
    jobs: 4,
    env: { TEST_SIZE: process.env.TEST_SIZE ?? 'forms' },
    files: [...['acceptance', 'integration', 'client'].map((folder) => `test/${folder}/*.full.ts`), ...core],
  },
  /** What depends on Node's version and the binary of uWebSockets.js, and a start with uploads and records. */
  http: {
    jobs: 3,
    files: [
      'test/acceptance/broken-framing.full.ts',
      'test/acceptance/bad-requests.full.ts',
      'test/acceptance/node-versions.full.ts',
      'test/acceptance/records.test.ts',
      'test/acceptance/upload.test.ts',
      'test/integration/chunked-ends.test.ts',
      'test/integration/compressed-answers.full.ts',
      'test/integration/compressed-bodies.test.ts',
      'test/integration/cors.test.ts',
      'test/integration/http-doors.test.ts',
      'test/integration/http-server.test.ts',
      'test/integration/https.test.ts',
      'test/integration/paused-bodies.test.ts',
      'test/integration/split-requests.full.ts',
      'test/unit/compressed-answers.test.ts',
    ],
  },
  redis: { jobs: 3, files: ['test/redis/*.test.ts'] },
  /** The query service on a ClickHouse server: filters and groups against the oracle, keys of inserts, updates. */
  served: {
    jobs: 3,
    env: { SLUICE_TEST_SERVED: '1' },
    files: ['test/acceptance/live-oracle.full.ts', ...servedFullFiles, ...servedFiles],
  },
  /** The same over two stores, but for tests that look into the table of one. */
  stores: {
    jobs: 3,
    env: { SLUICE_TEST_SERVED: '2' },
    files: servedFiles.filter((file) => !/query-(clear|records)/.test(file)),
  },
  histories: {
    jobs: 1,
    timeout: 3600,
    env: { HISTORIES: 'full' },
    files: [
      'test/integration/histories.full.ts',
      'test/integration/histories-preloads.full.ts',
      'test/integration/histories-versions.full.ts',
      'test/acceptance/histories-kill.full.ts',
      'test/redis/histories.test.ts',
    ],
  },
  docs: { jobs: 2, files: ['test/docs/*.test.ts'], install: 'test/docs' },
  /** Needs `clamd`, of Debian's clamav-daemon. */
  clamav: { jobs: 2, files: ['test/clamav/*.test.ts'] },
  /** Libraries of other languages, as they are: test/clients. */
  clients: { jobs: 2, files: ['test/clients/*.test.ts'], install: 'test/clients' },
  browser: { jobs: 2, files: ['test/browser/*.test.ts'] },
  deploy: { jobs: 2, files: ['test/deploy/*.test.ts'], install: 'test/deploy' },
  ceph: {
    jobs: 2,
    files: ['test/s3-servers/*.test.ts', ...uploadSamples],
    install: 'test/docs',
    s3: 'ceph',
  },
  // no make-bucket: a wrong key does not fail there (docs/decisions/021-s3-servers-under-test.md)
  versity: {
    jobs: 2,
    files: [
      'test/s3-servers/bucket.test.ts',
      'test/s3-servers/direct-store.test.ts',
      'test/s3-servers/client-direct.test.ts',
      'test/s3-servers/load.test.ts',
      'test/s3-servers/s3-store.test.ts',
      'test/s3-servers/upload.test.ts',
      'test/s3-servers/resumable.test.ts',
      'test/s3-servers/transfer.test.ts',
      ...uploadSamples,
    ],
    install: 'test/docs',
    s3: 'versity',
  },
};

const root = join(import.meta.dirname, '..');

/** The files of a suite, in the order in which they start. */
export function filesOf(suite: Suite): string[] {
  return suite.files.flatMap((pattern) => {
    const [folder = '', ending] = pattern.split('*');
    if (ending === undefined) return [pattern];
    const names = readdirSync(join(root, folder)).filter((name) => name.endsWith(ending));
    return names.sort().map((name) => folder + name);
  });
}
