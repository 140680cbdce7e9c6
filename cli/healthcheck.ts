import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIPv6 } from 'node:net';

/** Milliseconds. */
const timeout = 3000;

/**
 * For container engines: exits with 0 if the process at HOST and PORT of this environment answers `/healthz`, and otherwise
 * with 1 and one sentence. It reads no other variables, so that it only checks whether the process is alive.
 */
const { HOST, PORT, TLS_CERT_FILE } = process.env;
const host = HOST === undefined || HOST === '' || HOST === '0.0.0.0' ? '127.0.0.1' : HOST;
const options = { host: host === '::' ? '::1' : host, port: Number(PORT || 8080), path: '/healthz', timeout };
// the certificate is for the public name, not for this address, and only the answer matters
const request = TLS_CERT_FILE
  ? requestHttps({ ...options, rejectUnauthorized: false })
  : requestHttp(options);

const fail = (reason: string): never => {
  const address = isIPv6(options.host) ? `[${options.host}]` : options.host;
  process.stderr.write(`sluice: ${address}:${options.port} ${reason}\n`);
  process.exit(1);
};
request.on('response', ({ statusCode }) => {
  if (statusCode === 200) process.exit(0);
  fail(`answers ${statusCode}`);
});
request.on('timeout', () => fail('does not answer in time'));
request.on('error', (error) => fail(`does not answer: ${error.message}`));
request.end();
