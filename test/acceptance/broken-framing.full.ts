/** Requests that are broken as HTTP: whatever the answer is, the server goes on, and nothing is stored. */
import t from 'tap';
import { connectRaw } from '../services/raw-http.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const structure = structureOf('p', 's', fieldsOf('a TEXT'));
const good = { ...sluice, path: '/p/s', structure };
const { body: stored } = await call({ ...good, body: [{ a: 'x' }] });

const common = `host: x\r\nauthorization: Bearer ${sluice.token}\r\nstructure: ${structure}\r\n`;
const post = (headers: string, body: string): string =>
  `POST /p/s HTTP/1.1\r\n${common}${headers}\r\n\r\n${body}`;
const record = '[{"a":"no"}]';

/** The status of the first answer. */
async function statusOf(bytes: string | Buffer): Promise<string> {
  const connection = connectRaw(sluice.baseUrl);
  t.teardown(() => connection.socket.destroy());
  connection.send(bytes);
  return (await connection.until(/\r\n\r\n/)).split(' ')[1] as string;
}

t.test('what is no HTTP/1.1 is refused', async (t) => {
  const requests: Record<string, string | Buffer> = {
    'no Host': `GET /p/s HTTP/1.1\r\nauthorization: Bearer ${sluice.token}\r\n\r\n`,
    'another version': `GET /p/s HTTP/1.0\r\n${common}\r\n`,
    'a TLS greeting': Buffer.from('160301020001000100', 'hex'),
    'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a NUL in the path': `GET /p/\0 HTTP/1.1\r\n${common}\r\n`,
    'headers beyond the limit': `GET /p/s HTTP/1.1\r\n${common}x: ${'y'.repeat(140_000)}\r\n\r\n`,
    'a length that is no number': post('content-length: abc', record),
    'a negative length': post('content-length: -1', record),
    'an endless length': post('content-length: 99999999999999999999', record),
    'a length and chunks': post(
      'content-length: 12\r\ntransfer-encoding: chunked',
      `c\r\n${record}\r\n0\r\n\r\n`,
    ),
    'chunks without a size': post('transfer-encoding: chunked', `zz\r\n${record}\r\n0\r\n\r\n`),
    'a chunk of any size': post('transfer-encoding: chunked', `ffffffffffffffffff\r\n${record}\r\n`),
    'another encoding': post('transfer-encoding: gzip', record),
  };
  for (const [name, bytes] of Object.entries(requests)) {
    // a TLS greeting is only answered when it has an end
    const whole = typeof bytes === 'string' ? bytes : Buffer.concat([bytes, Buffer.from('\r\n\r\n')]);
    t.match(await statusOf(whole), /^(4\d\d|505)$/, name);
  }
});

t.test('repeated headers are lists, which no single value is', async (t) => {
  const get = (headers: string): string => `GET /p/s HTTP/1.1\r\n${common}${headers}\r\n\r\n`;
  t.equal(await statusOf(get(`structure: ${structure}`)), '400');
  t.equal(await statusOf(get(`authorization: Bearer ${sluice.token}`)), '401');
  t.equal(await statusOf(get('mutate: true\r\nmutate: true')), '400');
  t.equal(await statusOf(get('options: {}\r\noptions: {}')), '400');
});

t.test('several lengths are refused and the connection is closed: the first one was taken', async (t) => {
  const close = async (bytes: string): Promise<string> => {
    const connection = connectRaw(sluice.baseUrl);
    t.teardown(() => connection.socket.destroy());
    connection.send(bytes);
    return connection.closed();
  };
  for (const lengths of ['12\r\ncontent-length: 2', '500\r\ncontent-length: 12']) {
    const text = await close(post(`content-length: ${lengths}`, record));
    t.match(text, /^HTTP\/1\.1 400 .*"code":"malformed_request".*several Content-Length/s);
  }
  // what one of the lengths makes a body and the other a request
  t.notMatch(await close(post('content-length: 2\r\ncontent-length: 12', record)), /HTTP\/1\.1 200/);
  const smuggled = post(`content-length: ${record.length}`, record);
  for (const lengths of [
    `0\r\ncontent-length: ${smuggled.length}`,
    `${smuggled.length}\r\ncontent-length: 0`,
  ]) {
    t.notMatch(await close(post(`content-length: ${lengths}`, smuggled)), /HTTP\/1\.1 200/);
  }
});

t.test('the server goes on, and nothing was stored', async (t) => {
  t.strictSame((await call(good)).body, stored);
  t.equal(sluice.process.exitCode, null);
});
