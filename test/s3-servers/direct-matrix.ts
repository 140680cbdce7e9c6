/**
 * `node --import tsx test/s3-servers/direct-matrix.ts [NAME...]`: the contract of direct uploads against S3 servers, and a
 * table of what each answered (docs/decisions/081-direct-uploads-to-s3.md). By hand: some servers are large downloads.
 */
import t from 'tap';
import { readConfig } from '#kernel/config/read-config.ts';
import { createS3Store } from '#objects/s3/s3-store.ts';
import { type DirectOutcomes, directStoreContract } from '../integration/direct-store-contract.ts';
import { startCeph } from '../services/ceph.ts';
import { startMoto, startRclone, startS3mock, startS3proxy, versions } from '../services/more-s3-servers.ts';
import { silentLog } from '../services/silent-log.ts';
import type { S3Server } from '../services/start-s3-server.ts';
import { testedS3 } from '../services/tested-s3.ts';
import { startVersity } from '../services/versity.ts';

interface Column {
  readonly title: string;
  start(): Promise<S3Server | null>;
  /** Mocks accept any signature. */
  readonly isMock?: true;
  readonly smallParts?: true;
}

const columns: Readonly<Record<string, Column>> = {
  ceph: { title: 'Ceph RGW 16.2', start: () => startCeph() },
  versity: { title: 'Versity 1.8.0', start: startVersity },
  s3proxy: { title: `s3proxy ${versions.s3proxy}`, start: startS3proxy },
  rclone: { title: `rclone ${versions.rclone}`, start: startRclone, smallParts: true },
  s3mock: { title: `S3Mock ${versions.s3mock}`, start: startS3mock, isMock: true },
  moto: { title: `moto ${versions.moto}`, start: startMoto, isMock: true },
  /** One that runs already: S3_TEST_ENDPOINT, S3_TEST_BUCKET and the others. */
  given: { title: 'given', start: async () => ({ env: testedS3, stop: async () => {} }) },
};

// downloads, and compiling
t.setTimeout(3_600_000);
const named = process.argv.slice(2);
const table = new Map<string, DirectOutcomes>();
for (const name of named.length > 0 ? named : Object.keys(columns).filter((name) => name !== 'given')) {
  const column = columns[name];
  if (column === undefined) throw new Error(`no server ${name}: ${Object.keys(columns).join(', ')}`);
  await t.test(column.title, { timeout: 1_800_000 }, async (t) => {
    const server = await column.start();
    if (server === null) return;
    t.teardown(() => server.stop());
    const { s3 } = readConfig(server.env);
    if (s3 === undefined) throw new Error('no S3');
    const store = createS3Store({
      ...s3,
      deploymentId: 'c0ffee00-0000-4000-8000-000000000001',
      partBytes: 5 * 1024 ** 2,
      maxObjectBytes: 1024 ** 3,
      log: silentLog(),
    });
    t.teardown(() => store.close());
    const outcomes = await directStoreContract(t, {
      store,
      partBytes: 5 * 1024 ** 2,
      checksSignatures: column.isMock !== true,
      refusesSmallParts: column.smallParts !== true,
    });
    table.set(column.title, outcomes);
  });
}

const titles = [...table.keys()];
const cases = new Set([...table.values()].flatMap((outcomes) => [...outcomes.keys()]));
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
process.stderr.write(row(['case', ...titles]) + row(['---', ...titles.map(() => '---')]));
for (const name of cases)
  process.stderr.write(row([name, ...titles.map((title) => table.get(title)?.get(name) ?? '-')]));
