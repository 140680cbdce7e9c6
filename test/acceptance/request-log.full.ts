/** What the log says of requests, and what it never says. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { acceptanceToken, removeData, runToEnd, startSluice } from '../services/start-sluice.ts';

const stub = await startS3Stub();
const sluice = await startSluice({
  env: { ...stubSettings(stub), S3_REQUEST_TIMEOUT_MS: '1000', LOG_LEVEL: 'debug' },
});
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await stub.close();
});
const { baseUrl, dataDir } = sluice;
const made = await runToEnd('cli/token.ts', [], { DATA_DIR: dataDir });
const accessToken = made.stdout.trim();

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly requestId?: string;
  readonly [fact: string]: unknown;
}

/** Lines of requests; those of answers that have arrived may be written a moment later. */
async function linesOf(requestId: string): Promise<readonly Line[]> {
  const read = (): Line[] =>
    sluice
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.requestId === requestId);
  for (let tries = 0; tries < 100 && read().length === 0; tries++) await sleep(20);
  return read();
}

const upload = (requestId: string, token: string, name: string, path = '/_f_/shop/upload') => {
  const body = new FormData();
  body.set('file', new Blob(['0123456789']), name);
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': requestId };
  return fetch(baseUrl + path, { method: 'POST', headers, body });
};
const users = structureOf('shop', 'users', fieldsOf('email TEXT unique, password TEXT hashed'));

t.test('one line a request', async (t) => {
  const path = '/shop/users';
  const body = [{ email: 'ada@x', password: 'correct horse' }];
  const headers = { 'x-request-id': 'insert-0001' };
  await call({ baseUrl, token: accessToken, path, structure: users, body, headers });
  const [insert, ...more] = await linesOf('insert-0001');
  t.strictSame(more, []);
  t.match(insert, {
    level: 20,
    msg: 'answered',
    operation: 'insert',
    method: 'POST',
    status: 200,
    userId: /^[0-9a-f-]{36}$/,
    bytesIn: JSON.stringify(body).length,
    bytesOut: Number,
    milliseconds: Number,
  });
  const { name } = (await (await upload('upload-0001', accessToken, 'a.txt')).json()) as { name: string };
  t.match(await linesOf('upload-0001'), [{ operation: 'upload', status: 200, userId: insert?.userId }]);
  const fetched = await fetch(`${baseUrl}/_f_/shop/${name}`, { headers: { 'x-request-id': 'download-1' } });
  await fetched.arrayBuffer();
  t.match(await linesOf('download-1'), [{ operation: 'download', bytesIn: 0, bytesOut: 10, userId: null }]);
});

t.test('who is refused has a line that says why, at the usual level', async (t) => {
  for (const [id, path, status, code, operation] of [
    ['refused-1', '/shop/users?colour=red', 400, 'invalid_condition', 'find'],
    ['refused-2', '/nothing', 404, 'not_found', ''],
  ] as const) {
    await call({ baseUrl, token: accessToken, path, structure: users, headers: { 'x-request-id': id } });
    const [line, ...more] = await linesOf(id);
    t.strictSame(more, []);
    t.match(line, { level: 30, msg: 'request refused', status, code, operation });
  }
  await (await upload('refused-3', 'wrong-token-0123456789', 'a.txt')).text();
  t.match(await linesOf('refused-3'), [
    { level: 30, operation: 'upload', status: 401, code: 'unauthorized' },
  ]);
});

t.test('a store that fails is logged with its error, in the same line', async (t) => {
  const action = { kind: 'error', status: 500, code: 'InternalError' } as const;
  const fault = stub.fault({ operation: 'PutObject', action });
  await (await upload('failed-1', accessToken, 'a.txt')).text();
  fault.remove();
  const [line, ...more] = await linesOf('failed-1');
  t.strictSame(more, []);
  t.ok(line !== undefined && line.level >= 40);
  t.match(line, { operation: 'upload', err: { message: /S3 failed at PutObject/ } });
});

t.test('no token is in the log, wherever a client puts it', async (t) => {
  const login = await call({
    baseUrl,
    token: accessToken,
    path: '/shop/function/login',
    headers: {
      'function-resources': JSON.stringify({ mustExistSpaceStructures: [JSON.parse(users)] }),
      structure: users,
    },
    body: { email: 'ada@x', password: 'correct horse' },
  });
  const linked = await upload('link-0001', accessToken, 'linked.txt');
  const { name } = (await linked.json()) as { name: string };
  const link = await call({
    baseUrl,
    token: accessToken,
    path: `/_f_/shop/${name}/link`,
    body: { expiresIn: 60 },
  });
  const signature = new URL(link.body.link).searchParams.get('signature') ?? '';
  const loginToken: string = login.body?.token ?? '';
  t.ok(loginToken.startsWith('eyJ'), JSON.stringify(login.body));
  t.ok(signature.length > 20);
  const tokens = [acceptanceToken, accessToken, loginToken];
  for (const token of tokens) {
    const inHeaders = 'authorization x-request-id structure options token cookie referer host'.split(' ');
    for (const header of inHeaders) {
      for (const scheme of ['', 'Bearer ', 'Basic ']) {
        const headers = { [header]: scheme + token };
        await call({ baseUrl, token: accessToken, path: '/shop/users', structure: users, headers }).catch(
          () => {},
        );
      }
    }
    for (const path of [
      `/${token}`,
      `/${token}/users`,
      `/shop/${token}`,
      `/shop/users/${token}`,
      `/_f_/${token}/upload`,
      `/_f_/shop/${token}`,
      `/_f_/shop/${name}?signature=${token}&expires=1`,
      `/shop/users?${token}=1`,
      `/shop/users?email=${token}`,
      `/shop/users?token=${token}`,
    ]) {
      await call({ baseUrl, token: accessToken, path, structure: users });
      await call({ baseUrl, token, path, structure: users, body: { email: token, [token]: token } });
    }
    await call({ baseUrl, token: accessToken, path: '/shop/users', structure: users, body: `[${token}` });
    for (const failing of [false, true]) {
      const action = { kind: 'error', status: 500, code: 'InternalError' } as const;
      const fault = failing ? stub.fault({ operation: 'PutObject', action }) : null;
      await (await upload('named-0001', accessToken, `${token}.jpg`)).text();
      await (await upload('named-0002', accessToken, 'a.jpg', `/_f_/shop/upload?token=${token}`)).text();
      fault?.remove();
    }
  }
  await (await fetch(`${baseUrl}/_f_/shop/${name}?expires=1&signature=${signature}`)).text();
  await linesOf('named-0002');
  const log = sluice.stderr();
  t.ok(log.split('\n').length > 100, 'there is a log to look at');
  for (const secret of [...tokens, signature]) {
    t.notOk(log.includes(secret), `${secret.slice(0, 10)}...`);
    t.notOk(log.includes(encodeURIComponent(secret)));
  }
  t.notMatch(log, /correct horse|ada@x/, 'nor what records hold');
});
