import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { temporaryFolder } from './temporary-folder.ts';

/** PEM files. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Makes a certificate that is signed by itself, and its key. @param altName such as `IP:127.0.0.1` */
export async function makeCertificate(folder: string, altName = 'IP:127.0.0.1'): Promise<CertificateFiles> {
  const certFile = join(folder, 'cert.pem');
  const keyFile = join(folder, 'key.pem');
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', `subjectAltName=${altName}`],
    ...['-out', certFile, '-keyout', keyFile],
  ]);
  return { certFile, keyFile };
}

/** A certificate that is there for as long as the test. @param altName of makeCertificate */
export async function certificateFor(
  t: Pick<Test, 'teardown'>,
  altName?: string,
): Promise<CertificateFiles & { readonly ca: string }> {
  const folder = await temporaryFolder(t);
  const files = await makeCertificate(folder, altName);
  return { ...files, ca: await readFile(files.certFile, 'utf8') };
}
