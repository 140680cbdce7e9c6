import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIPv6 } from 'node:net';

/** Milliseconds. */
const timeout = 3000;

/**
 * For container engines: exit status 0 when the process that listens at HOST and PORT of this environment answers
 * `/healthz`, else 1 and one sentence. Reads no other variable, so that it tells nothing but whether the process lives.
 */
const { HOST, PORT, TLS_CERT_FILE } = process.env;
const host = HOST === undefined || HOST === '' || HOST === '0.0.0.0' ? '127.0.0.1' : HOST;
const options = { host: host === '::' ? '::1' : host, port: Number(PORT || 8080), path: '/healthz', timeout };
// what is asked is whether it answers: the certificate is made out for its public name, not for this address
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
