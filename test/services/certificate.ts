import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

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
