import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { ConfigError, readConfig } from '../../common/config/read-config.ts';

function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

t.test('defaults', async (t) => {
  t.match(readConfig({}), {
    host: '127.0.0.1',
    port: 8080,
    publicUrl: undefined,
    tls: undefined,
    trustedProxies: undefined,
    corsOrigins: ['*'],
    dataDir: resolve('data'),
    bootstrapToken: undefined,
    maxUploadBytes: 100_000_000,
    maxRecordBytes: 1_048_576,
    maxRecordsBytes: 16_777_216,
    fileLinks: 'public',
    allowClearAllSpaces: false,
    logLevel: 'info',
  });
});

t.test('an empty variable counts as not set', async (t) => {
  t.equal(readConfig({ PORT: '', PUBLIC_URL: '' }).port, 8080);
});

t.test('every bad value is reported at once, with its range', async (t) => {
  const found = problems({
    PORT: '65536',
    MAX_UPLOAD_BYTES: '1e9',
    LOG_LEVEL: 'loud',
    CORS_ORIGINS: 'https://a.example, nonsense',
    TRUSTED_PROXIES: '10.0.0.0/33',
    PUBLIC_URL: 'ftp://x',
    HOST: 'example.com',
    ALLOW_CLEAR_ALL_SPACES: 'yes',
    S3_BUCKET: 'b',
    TLS_KEY_FILE: '/none',
  });
  for (const text of [
    'PORT is "65536": it should be a whole number from 0 to 65535',
    'MAX_UPLOAD_BYTES is "1e9"',
    'LOG_LEVEL is "loud"',
    'CORS_ORIGINS has "nonsense"',
    'TRUSTED_PROXIES has "10.0.0.0/33"',
    'PUBLIC_URL is "ftp://x"',
    'HOST is "example.com"',
    'ALLOW_CLEAR_ALL_SPACES is "yes"',
    'TLS_CERT_FILE and TLS_KEY_FILE should be set together',
  ]) {
    t.ok(
      found.some((problem) => problem.startsWith(text)),
      `${text} in ${JSON.stringify(found)}`,
    );
  }
});

t.test('a bad secret is not repeated', async (t) => {
  const found = problems({ BOOTSTRAP_TOKEN: 'hunter2 !' });
  t.equal(found.length, 1);
  t.match(found[0], /BOOTSTRAP_TOKEN/);
  t.notMatch(found[0], /hunter2/);
});

t.test('lists, addresses and files are read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  writeFileSync(join(folder, 'cert.pem'), '');
  const config = readConfig({
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    CORS_ORIGINS: 'https://a.example,http://localhost:3000',
    PUBLIC_URL: 'https://api.example.com/base/',
    TLS_CERT_FILE: join(folder, 'cert.pem'),
    TLS_KEY_FILE: join(folder, 'cert.pem'),
  });
  t.ok(config.trustedProxies?.check('10.1.2.3'));
  t.notOk(config.trustedProxies?.check('11.1.2.3'));
  t.ok(config.trustedProxies?.check('::1', 'ipv6'));
  t.strictSame(config.corsOrigins, ['https://a.example', 'http://localhost:3000']);
  t.equal(config.publicUrl, 'https://api.example.com/base');
  t.match(problems({ TLS_CERT_FILE: '/none', TLS_KEY_FILE: '/none' }), [
    /TLS_CERT_FILE.*ENOENT/,
    /TLS_KEY_FILE/,
  ]);
});
