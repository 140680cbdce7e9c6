import type { CertificateFiles } from './certificate.ts';

/** Options of a redis-server, or a Sentinel, that speaks TLS on a port, and trusts that certificate alone. */
export function redisTlsOptions(port: number, { certFile, keyFile }: CertificateFiles): [string, string][] {
  return [
    ['tls-port', `${port}`],
    ['tls-cert-file', certFile],
    ['tls-key-file', keyFile],
    ['tls-ca-cert-file', certFile],
    ['tls-auth-clients', 'no'],
  ];
}

export function redisArguments(options: readonly (readonly [string, string])[]): string[] {
  return options.flatMap(([name, value]) => [`--${name}`, value]);
}
