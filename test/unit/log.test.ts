import t from 'tap';
import { readConfig } from '#kernel/config/read-config.ts';
import { secretsOf } from '#kernel/config/secrets-of.ts';
import { createLog, type LogOptions } from '#kernel/log/log.ts';

function logTo(options: LogOptions & { terminal?: boolean }) {
  const lines: string[] = [];
  const output = { terminal: options.terminal ?? false, write: (text: string) => void lines.push(text) };
  return { lines, log: createLog('debug', { ...options, output }) };
}

const accessToken = `sluice_${'Ab3_-'.repeat(10)}x`;
const loginToken = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTIzNDU2Nzg5In0.c2lnbmF0dXJlLXNpZ25hdHVyZS1zaWduYXR1cmU';

t.test('machines get JSON', async (t) => {
  const { lines, log } = logTo({ facts: { worker: 2 } });
  log.info({ requestId: 'r' }, 'request refused');
  t.match(JSON.parse(lines[0] ?? ''), {
    level: 30,
    time: Number,
    pid: process.pid,
    worker: 2,
    requestId: 'r',
    msg: 'request refused',
  });
});

t.test('people get the time, the level in a word, and facts', async (t) => {
  process.env.NO_COLOR = '1';
  t.teardown(() => delete process.env.NO_COLOR);
  const { lines, log } = logTo({ terminal: true });
  log.info({ operation: 'find', status: 401, userId: null, said: 'two words' }, 'request refused');
  t.match(
    lines[0],
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO {2}request refused operation=find status=401 said="two words"\n$/,
  );
  log.error({ err: new Error('the store is away') }, 'request failed');
  t.match(lines[1], /ERROR request failed\n {4}Error: the store is away\n {4} +at /);
});

t.test('nothing that a terminal obeys is shown to it', async (t) => {
  process.env.NO_COLOR = '1';
  t.teardown(() => delete process.env.NO_COLOR);
  const { lines, log } = logTo({ terminal: true });
  const nasty = '\x1b[2J\r\u009b31m\u202eabc\u2028';
  log.warn({ [`a${nasty}`]: nasty, deep: { nasty }, err: new Error(nasty) }, nasty);
  t.match(lines[0], /\\u001b\[2J/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  t.notMatch(lines[0], /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]/);
});

t.test('a secret is taken out wherever it stands', async (t) => {
  const config = readConfig({
    BOOTSTRAP_TOKEN: 'bootstrap-token-0123456789',
    METRICS_TOKEN: 'metrics-token-0123456789',
    LOGIN_TOKEN_SECRET: 'a secret of "login" tokens, with \\ in it',
    CLICKHOUSE_URL: 'http://clickhouse:8123',
    CLICKHOUSE_PASSWORD: 'clickhouse password',
    S3_BUCKET: 'files',
    S3_ACCESS_KEY_ID: 'key',
    S3_SECRET_ACCESS_KEY: 's3/secret+key',
    REDIS_SENTINELS: 'one',
    REDIS_SENTINEL_NAME: 'main',
    REDIS_PASSWORD: 'redis-password',
    REDIS_SENTINEL_PASSWORD: 'sentinel-password',
  });
  const secrets = secretsOf(config);
  t.equal(secrets.length, 7);
  const shaped = [accessToken, loginToken];
  for (const secret of [...secrets, ...shaped]) {
    const { lines, log } = logTo({ secrets });
    const { lines: seen, log: terminal } = logTo({ secrets, terminal: true });
    for (const to of [log, terminal]) {
      to.error({ err: new Error(`key d/u/p/1_${secret}.jpg`), requestId: secret }, `said ${secret}`);
      to.warn({ deep: { url: `http://x/?token=${encodeURIComponent(secret)}` }, [secret]: 1 });
    }
    for (const text of [lines.join(''), seen.join('')]) {
      const escaped = JSON.stringify(secret).slice(1, -1);
      for (const form of [secret, escaped, encodeURIComponent(secret)]) t.notOk(text.includes(form), form);
      t.match(text, /\*\*\*/);
    }
    for (const line of lines) t.doesNotThrow(() => JSON.parse(line));
  }
});

t.test('headers and signed addresses', async (t) => {
  const { lines, log } = logTo({});
  log.info('Authorization: Bearer abcdefgh12345678');
  log.info('https://x/a?expires=1&signature=c2lnbmF0dXJl&b=1 X-Amz-Signature=0123456789abcdef');
  t.notMatch(lines.join(), /abcdefgh|c2lnbm|0123456789abcdef/);
  t.match(lines.join(), 'expires=1&signature=***&b=1');
});

t.test('what is no secret stays', async (t) => {
  const { lines, log } = logTo({ secrets: ['short'] });
  const text =
    'short sluice_views.shop_orders_0123456789ab sluice_http_requests_total eyJ a.b.c bearer of news';
  log.info(text);
  t.equal(JSON.parse(lines[0] ?? '').msg, text);
});
