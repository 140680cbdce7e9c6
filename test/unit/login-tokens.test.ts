import { createHmac } from 'node:crypto';
import { SignJWT } from 'jose';
import t from 'tap';
import { createLoginTokens, type LoginTokens } from '#auth/login-tokens.ts';
import { createConfiguredKeys } from '#auth/signing-keys.ts';

const secret = 's'.repeat(32);
const keys = createConfiguredKeys(secret);
const claims = { projectId: 'project', spaceId: 'space', recordId: 'record' };
const hour = 3_600_000;
const at =
  (time: number): (() => Date) =>
  () =>
    new Date(time);
const tokens = createLoginTokens({ keys, ttl: hour });

const base64 = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const partsOf = (token: string): [string, string, string] => token.split('.') as [string, string, string];

/** A token made by hand, signed as its parts say. */
async function forge(header: object, payload: object): Promise<string> {
  const { secret: own } = await keys.current();
  const hash = 'alg' in header && header.alg === 'HS512' ? 'sha512' : 'sha256';
  const text = `${base64(header)}.${base64(payload)}`;
  return `${text}.${createHmac(hash, own).update(text).digest('base64url')}`;
}

t.test('a token says whom it is for, until it expires', async (t) => {
  const issued = createLoginTokens({ keys, ttl: hour, now: at(1_000_000_000_000) });
  const token = await issued.issue(claims);
  t.strictSame(await issued.verify(token), claims);
  const verifiedAt = (time: number) =>
    createLoginTokens({ keys, ttl: 1, now: at(1_000_000_000_000 + time) }).verify(token);
  t.strictSame(await verifiedAt(hour - 1), claims);
  t.equal(await verifiedAt(hour), null);
  t.equal(await verifiedAt(100 * hour), null);
});

t.test('a token that is issued late in a second is good for its whole time', async (t) => {
  const late = 1_000_000_000_999;
  const token = await createLoginTokens({ keys, ttl: 1000, now: at(late) }).issue(claims);
  const verifiedAt = (time: number) => createLoginTokens({ keys, ttl: 1, now: at(time) }).verify(token);
  t.strictSame(await verifiedAt(late + 999), claims);
  t.equal(await verifiedAt(late + 2000), null);
});

t.test('the secret is not in the token, nor in its header', async (t) => {
  const token = await tokens.issue(claims);
  const { secret: bytes } = await keys.current();
  const [header, payload] = partsOf(token).map((part) => Buffer.from(part, 'base64url').toString());
  t.strictSame(Object.keys(JSON.parse(payload as string)).sort(), ['exp', 'iat', 'pid', 'sid', 'sub']);
  for (const text of [header, payload]) {
    t.notMatch(text, secret);
    t.notMatch(text, Buffer.from(bytes).toString('base64'));
  }
});

t.test('processes with one secret accept each other, and no others', async (t) => {
  const token = await tokens.issue(claims);
  const verify = (other: string) =>
    createLoginTokens({ keys: createConfiguredKeys(other), ttl: hour }).verify(token);
  t.strictSame(await verify(secret), claims);
  t.equal(await verify('t'.repeat(32)), null);
  t.equal(await verify(`${secret}s`), null);
});

t.test('every changed character makes it worthless', async (t) => {
  const token = await tokens.issue(claims);
  for (let index = 0; index < token.length - 1; index++) {
    const changed = token[index] === 'A' ? 'B' : 'A';
    const text = token.slice(0, index) + changed + token.slice(index + 1);
    const result = await tokens.verify(text);
    if (result !== null) t.fail(`character ${index} may be changed`);
  }
  t.equal(await tokens.verify(token.slice(0, -4)), null);
});

t.test('only our algorithm, type and claims', async (t) => {
  const { id } = await keys.current();
  const header = { alg: 'HS256', typ: 'login+jwt', kid: id };
  const seconds = Math.floor(Date.now() / 1000);
  const payload = { pid: 'project', sid: 'space', sub: 'record', iat: seconds, exp: seconds + 60 };
  t.strictSame(await tokens.verify(await forge(header, payload)), claims, 'the forge works');
  const bad: [string, object, object][] = [
    ['no algorithm', { ...header, alg: 'none' }, payload],
    ['another algorithm', { ...header, alg: 'HS512' }, payload],
    ['another type', { ...header, typ: 'JWT' }, payload],
    ['no type', { alg: 'HS256', kid: id }, payload],
    ['no key', { alg: 'HS256', typ: 'login+jwt' }, payload],
    ['another key', { ...header, kid: 'other' }, payload],
    ['a key that is no text', { ...header, kid: { $ne: '' } }, payload],
    ['critical extensions', { ...header, crit: ['x'], x: 1 }, payload],
    ['no expiry', header, { ...payload, exp: undefined }],
    ['an expiry that is text', header, { ...payload, exp: '9999999999' }],
    ['no project', header, { ...payload, pid: undefined }],
    ['a project that is no text', header, { ...payload, pid: 1 }],
    ['no space', header, { ...payload, sid: undefined }],
    ['a space that is no text', header, { ...payload, sid: ['space'] }],
    ['no record', header, { ...payload, sub: undefined }],
    ['a record that is no text', header, { ...payload, sub: { $gt: '' } }],
    ['not yet good', header, { ...payload, nbf: seconds + 60 }],
  ];
  for (const [name, head, body] of bad) t.equal(await tokens.verify(await forge(head, body)), null, name);
  const [head, body] = partsOf(await forge(header, payload));
  t.equal(await tokens.verify(`${head}.${body}.`), null, 'no signature');
  t.equal(await tokens.verify(`${base64({ ...header, alg: 'none' })}.${body}.`), null);
});

t.test('anything may be sent as a token', async (t) => {
  for (const text of [
    '',
    '.',
    '..',
    '...',
    'a.b.c',
    'null',
    '{}',
    `${base64('null')}.${base64('null')}.${base64('x')}`,
    `${base64('[]')}.${base64('{}')}.`,
    'é😀.\0.x',
    'x'.repeat(1_000_000),
    `${'A.'.repeat(100_000)}A`,
    'Bearer x',
  ]) {
    t.equal(await tokens.verify(text), null);
  }
});

t.test('a store that fails is not a bad token', async (t) => {
  const broken: LoginTokens = createLoginTokens({
    keys: { ...keys, find: async () => Promise.reject(new Error('the store is away')) },
    ttl: hour,
  });
  await t.rejects(Promise.resolve(broken.verify(await tokens.issue(claims))), {
    message: 'the store is away',
  });
});

t.test('tokens of other issuers with the same secret are not ours', async (t) => {
  const { secret: bytes, id } = await keys.current();
  const other = await new SignJWT({ pid: 'project', sid: 'space' })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: id })
    .setSubject('record')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(bytes);
  t.equal(await tokens.verify(other), null);
});
