import { readConfig } from '#kernel/config/read-config.ts';
import { createS3Store } from '#objects/s3/s3-store.ts';
import { silentLog } from './silent-log.ts';

const prefix = 'S3_TEST_';

/** S3_ENDPOINT and the others, by which a process of ours stores in the S3 server of a suite; none where it has no server. */
export const testedS3: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value = '']) =>
    name.startsWith(prefix) ? [[`S3_${name.slice(prefix.length)}`, value]] : [],
  ),
);

/** The same for a process of a test. */
export function testedVariables(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name.replace('S3_', prefix), value]));
}

/** Where that server is, and the keys. */
export function testedPlace() {
  const { s3 } = readConfig(testedS3);
  if (s3?.endpoint === undefined || s3.credentials === undefined)
    throw new Error('npm test -- ceph and npm test -- versity start the server that this needs');
  return { ...s3, endpoint: s3.endpoint, credentials: s3.credentials };
}

/** A store of ours on it. */
export function openTestedStore({ partBytes = 5 * 1024 ** 2, log = silentLog() } = {}) {
  return createS3Store({ ...testedPlace(), partBytes, maxObjectBytes: 1024 ** 3, log });
}
