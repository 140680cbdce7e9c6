/**
 * Every way to ask for every operation, by everybody: nobody gets at a record that the rules do not give him, and what he is
 * answered about it is what he is answered where there is none.
 */

import t from 'tap';
import { createLoginTokens } from '#auth/login-tokens.ts';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { operations } from '#query/operations.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { parquetRows } from '../services/table-rows.ts';

const secret = 'a secret for tokens that is as long as it has to be';
const sluice = await sluiceFor(t, { env: { LOGIN_TOKEN_SECRET: secret } });

interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
  readonly body: any;
  readonly headers: Headers;
}

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask({ method, path, body, headers }: Call): Promise<Answer> {
  const response = await fetch(sluice.baseUrl + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await textOf(response);
  const isFile = response.headers.has('content-disposition');
  return {
    status: response.status,
    text,
    body: text === '' || isFile ? null : JSON.parse(text),
    headers: response.headers,
  };
}

/** A file of columns may have its texts compressed. */
async function textOf(response: Response): Promise<string> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const isParquet = response.headers.get('content-type')?.includes('parquet');
  return isParquet ? JSON.stringify(await parquetRows(bytes)) : bytes.toString();
}

const asOwner = { authorization: `Bearer ${sluice.token}` };
const stored = { 'use-pre-stored-structure': 'true' };
const owned = async (call: Call): Promise<Answer> => {
  const answer = await ask({ ...call, headers: { ...asOwner, ...call.headers } });
  if (answer.status >= 400) throw new Error(`${call.path}: ${answer.text}`);
  return answer;
};

async function tokenOf(...options: string[]): Promise<string> {
  const { stdout, stderr, status } = await runToEnd('cli/token.ts', options, { DATA_DIR: sluice.dataDir });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

const userFields = fieldsOf('name TEXT unique, password TEXT hashed, role TEXT');
const noteFields = fieldsOf('text TEXT, public BOOLEAN, owner TEXT, secret TEXT, code TEXT unique');
const make = (project: string, space: string, fields: typeof userFields) =>
  owned({
    path: `/${project}/${space}/set-structure`,
    body: JSON.parse(structureOf(project, space, fields)),
  });

/** A user of a space, and a login token. */
async function userOf(project: string, space: string, name: string, token = sluice.token) {
  const headers = { authorization: `Bearer ${token}` };
  const structure = JSON.parse(structureOf(project, space, userFields));
  const { body } = await ask({
    path: `/${project}/${space}/_single_`,
    body: { name, password: 'right' },
    headers: { ...headers, structure: JSON.stringify(structure) },
  });
  const login = await ask({
    path: `/${project}/function/login`,
    body: { name, password: 'right' },
    headers: { ...headers, 'function-resources': JSON.stringify({ mustExistSpaceStructures: [structure] }) },
  });
  return { id: body.id as string, token: login.body.token as string };
}

const own = { owner: '$user.id' };
await make('app', 'users', userFields);
await make('app', 'notes', noteFields);
const [ada, bob, gone] = [
  await userOf('app', 'users', 'ada'),
  await userOf('app', 'users', 'bob'),
  await userOf('app', 'users', 'gone'),
];
const setRules = (space: string, body: unknown) =>
  owned({ method: 'PUT', path: `/_projects_/app/spaces/${space}/rules`, body });
await setRules('users', {
  find: { id: '$user.id' },
  insert: true,
  update: { id: '$user.id' },
  readonly: ['role'],
});
await setRules('notes', {
  find: { $or: [{ public: true }, own] },
  insert: own,
  update: own,
  delete: own,
  set: own,
  hidden: ['secret'],
});
await owned({ method: 'DELETE', path: `/app/users?id=${gone.id}`, headers: stored });

const publishable = await tokenOf('--publishable', '--origin', '*');
const revoked = await tokenOf('--name', 'revoked');
await runToEnd('cli/token.ts', ['--revoke', revoked], { DATA_DIR: sluice.dataDir });
const expired = await tokenOf('--expires-in', '1s');
const otherAccount = await tokenOf('--user', 'other@x.io', '--create-user');
const ungranted = await tokenOf('--may', 'usage');
const old = createLoginTokens({ keys: createConfiguredKeys(secret), ttl: -10_000 });
const issued = createLoginTokens({ keys: createConfiguredKeys(secret), ttl: 60_000 });
const claims = JSON.parse(Buffer.from(ada.token.split('.')[1] as string, 'base64url').toString());
const adas = { projectId: claims.pid, spaceId: claims.sid, recordId: ada.id };

const page = (token?: string) => ({ authorization: `Bearer ${publishable}`, ...(token && { token }) });
interface Sender {
  readonly headers: Readonly<Record<string, string>>;
  /** Refused whatever it asks for; null: the rules decide. */
  readonly refused: number | null;
  readonly user?: { readonly id: string };
  /** It says that it is a user, and is none: it may log in. */
  readonly badLogin?: true;
}
const senders: Readonly<Record<string, Sender>> = {
  'no token': { headers: {}, refused: 401 },
  'a token that is none': { headers: { authorization: 'Bearer nothing' }, refused: 401 },
  'a revoked token': { headers: { authorization: `Bearer ${revoked}` }, refused: 401 },
  'an expired token': { headers: { authorization: `Bearer ${expired}` }, refused: 401 },
  'a token without the grant': { headers: { authorization: `Bearer ${ungranted}` }, refused: 403 },
  'a stranger': { headers: page(), refused: null },
  ada: { headers: page(ada.token), refused: null, user: ada },
  bob: { headers: page(bob.token), refused: null, user: bob },
  'a server for ada': {
    headers: { ...asOwner, 'sluice-act-as-user': 'true', token: ada.token },
    refused: null,
    user: ada,
  },
  'a user who is gone': { headers: page(gone.token), refused: 401, badLogin: true },
  'a login token of another space': {
    headers: page((await userOf('app', 'admins', 'ada')).token),
    refused: 401,
    badLogin: true,
  },
  'one of another project': {
    headers: page((await userOf('app2', 'users', 'ada')).token),
    refused: 401,
    badLogin: true,
  },
  'one of another account': {
    headers: page((await userOf('app', 'users', 'ada', otherAccount)).token),
    refused: 401,
    badLogin: true,
  },
  'an expired one': { headers: page(await old.issue(adas)), refused: 401, badLogin: true },
  'one for a record that is no user': {
    headers: page(await issued.issue({ ...adas, recordId: 'nobody' })),
    refused: 401,
    badLogin: true,
  },
  'one that was changed': { headers: page(`${ada.token.slice(0, -4)}AAAA`), refused: 401, badLogin: true },
};

interface Note {
  readonly id: string;
  readonly text: string;
  readonly code: string;
}
let notes = 0;
/** A note that belongs to a user, with words of its own. */
async function noteOf(owner: string): Promise<Note> {
  const mark = `mark${notes++}x`;
  const body = { text: mark, public: false, owner, secret: `${mark}secret`, code: `${mark}code` };
  return (await owned({ path: '/app/notes/_single_', body, headers: stored })).body;
}
const absent: Note = { id: '0197a5c8-7c1e-7d3a-9b52-0c9f6e1d2a34', text: 'markNONEx', code: 'markNONExcode' };

const users = JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] });
/** The rules have no signUp: they are for nobody, and ask for no login (sign-up.test.ts has the others). */
const mailSteps: readonly string[] = ['signUp', 'verifyEmail', 'resetPassword'];
type Asked = Pick<Call, 'body' | 'headers'> & { readonly query?: string };
/** What each operation is asked about a note. */
const questions: Readonly<Record<string, (note: Note) => Asked>> = {
  find: ({ id }) => ({ query: `?id=${id}` }),
  findOne: ({ text }) => ({ query: `?text=${text}` }),
  search: ({ text }) => ({ query: `?searchText=${text}&searchableFields[]=text` }),
  count: ({ id }) => ({ query: `?id=${id}` }),
  aggregate: ({ id }) => ({ body: { where: { id }, groupBy: ['text'], values: { n: 'count' } } }),
  liveAddress: ({ id }) => ({ body: { id } }),
  getKeys: () => ({}),
  ...Object.fromEntries(
    operations
      .filter(({ name }) => name.startsWith('export'))
      .map(({ name }) => [name, ({ id }: Note) => ({ query: `?id=${id}` })]),
  ),
  getOpenApi: () => ({}),
  insert: ({ code }) => ({ body: [{ text: 'new', code }] }),
  insertOne: ({ code }) => ({
    body: { text: 'new', code },
    headers: { options: JSON.stringify({ onConflict: { field: 'code', do: 'update' } }) },
  }),
  import: ({ code }) => ({ body: [{ text: 'new', code }] }),
  updateOne: ({ id }) => ({ query: `?id=${id}`, body: { text: 'new' } }),
  updateOneById: ({ id }) => ({ query: `?id=${id}`, body: { text: 'new' } }),
  updateMany: ({ id }) => ({ body: { where: { id }, set: { text: 'new' } } }),
  setKeys: () => ({ body: { text: 'new' } }),
  deleteOneById: ({ id }) => ({ query: `?id=${id}` }),
  deleteMany: ({ id }) => ({ body: { where: { id } } }),
  clear: () => ({}),
  getTokenOwner: () => ({}),
  login: () => ({ body: { name: 'ada', password: 'right' }, headers: { 'function-resources': users } }),
  refreshLogin: () => ({ headers: { 'function-resources': users } }),
  // of a stranger, so that the users stay
  logout: () => ({ headers: { 'function-resources': users, token: 'x' } }),
  ...Object.fromEntries(
    mailSteps.map((name) => [
      name,
      () => ({ body: { email: 'ada@example.com' }, headers: { 'function-resources': users } }),
    ]),
  ),
  oidcStart: () => ({
    body: { returnTo: 'https://app.test/', challenge: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg' },
  }),
  oidcLogin: () => ({ body: { code: 'x', verifier: 'x' } }),
  sendOtp: () => ({ body: {} }),
  sendPushNotifications: () => ({ body: {} }),
  setStructure: () => ({ body: JSON.parse(structureOf('app', 'notes', fieldsOf('more TEXT'))) }),
  setInferredStructure: () => ({ body: { more: 'x' } }),
  getInferredStructure: () => ({ body: { more: 'x' } }),
};
const writes = [
  'insert',
  'insertOne',
  'updateOne',
  'updateOneById',
  'updateMany',
  'deleteOneById',
  'deleteMany',
];
/** They are about a whole space, or about none. */
const ofNoNote = [
  'liveAddress',
  'getKeys',
  'import',
  'setKeys',
  'clear',
  'getOpenApi',
  'getTokenOwner',
  'login',
  'refreshLogin',
  'logout',
  'oidcStart',
  'oidcLogin',
  ...mailSteps,
  'sendOtp',
  'sendPushNotifications',
];

/** What an answer says, without what differs each time. */
function saidBy({ status, text }: Answer, { id, text: mark, code }: Note): string {
  const plain = text
    .replaceAll(/"(?:timestamp|requestId|createdAt|updatedAt|path)":"[^"]*"/g, '')
    .replaceAll(/"(?:id|token)":"[^"]*"/g, '""');
  return `${status} ${plain.replaceAll(code, 'CODE').replaceAll(mark, 'TEXT').replaceAll(id, 'ID')}`;
}

t.test('by everybody', async (t) => {
  const { headers: ofExpired } = senders['an expired token'] as Sender;
  await eventuallyEqual(t, async () => (await ask({ path: '/app/notes', headers: ofExpired })).status, 401);
  t.strictSame(Object.keys(questions).sort(), operations.map(({ name }) => name).sort());
  const oldest = await noteOf(bob.id);
  let asked = 0;
  for (const { name, method, path, also = [] } of operations) {
    const question = questions[name] as (note: Note) => Asked;
    const space = name === 'getTokenOwner' ? 'users' : 'notes';
    for (const way of [{ method, path }, ...also]) {
      for (const [who, { headers, refused, user, badLogin }] of Object.entries(senders)) {
        const what = `${who}: ${name} by ${way.method} ${way.path}`;
        const [adasNote, bobsNote] = [await noteOf(ada.id), await noteOf(bob.id)];
        const send = async (note: Note): Promise<Answer> => {
          asked++;
          const { query = '', body, headers: more } = question(note);
          const isInBody = way !== also.find((one) => one === way) ? false : body === undefined;
          const pairs = Object.fromEntries(new URLSearchParams(query));
          const at = way.path.replace(':project', 'app').replace(':space', space);
          return ask({
            method: way.method,
            path: at + (isInBody ? '' : query),
            ...(isInBody ? { body: pairs } : body === undefined ? {} : { body }),
            headers: { ...headers, ...more },
          });
        };
        const isOfUser = (note: Note): boolean =>
          (user === ada && note === adasNote) || (user === bob && note === bobsNote);
        const answers = new Map<Note, Answer>();
        for (const note of [adasNote, bobsNote, absent]) {
          const answer = await send(note);
          answers.set(note, answer);
          if (answer.status >= 500 && answer.status !== 501) t.fail(`${what}: ${answer.text}`);
          if (!isOfUser(note) && note !== absent) {
            const isShown =
              name === 'insert' ? false : answer.text.includes(note.text) && answer.status < 400;
            if (isShown) t.fail(`${what} shows a note: ${answer.text}`);
            const { body: now } = await owned({ path: `/app/notes/_single_?id=${note.id}`, headers: stored });
            if (now?.text !== note.text || now.owner !== (note === adasNote ? ada.id : bob.id))
              t.fail(`${what} changed a note: ${JSON.stringify(now)}`);
          }
          if (/mark\d+xsecret/.test(answer.text)) t.fail(`${what} shows a hidden field: ${answer.text}`);
          if (user !== undefined || who === 'a stranger')
            if (answer.headers.has('server-timing')) t.fail(`${what} tells its time`);
        }
        const outcome = [...answers].map(([note, answer]) => saidBy(answer, note));
        const needsStructure = name.endsWith('Structure');
        if (refused !== null) {
          const isLogin = badLogin && name === 'login';
          const isForNobody = needsStructure || mailSteps.includes(name) || name === 'oidcStart';
          const expected = isLogin ? 200 : badLogin && isForNobody ? 403 : refused;
          const isMissing = badLogin && name.startsWith('send');
          for (const { status, text } of answers.values())
            if (!isMissing && status !== expected)
              t.fail(`${what}: ${status} in place of ${expected}: ${text}`);
          if (new Set(outcome).size > 1) t.fail(`${what} differs with what there is: ${outcome.join('\n')}`);
          continue;
        }
        if (needsStructure) {
          // it stores nothing
          const isDone = name === 'getInferredStructure' && who === 'a server for ada';
          for (const { status } of answers.values())
            if (status < 400 !== isDone) t.fail(`${what}: ${status}, about a structure`);
          continue;
        }
        if (mailSteps.includes(name))
          for (const { status } of answers.values()) if (status !== 403) t.fail(`${what}: ${status}`);
        if (ofNoNote.includes(name)) continue;
        // of another's note one learns what one learns of none; but a value that is taken is taken
        const [ofAda, ofBob, ofNone] = outcome as [string, string, string];
        const others = [...(user === ada ? [] : [ofAda]), ...(user === bob ? [] : [ofBob])];
        for (const other of others) {
          const isTaken = (name === 'insert' || name === 'insertOne') && user !== undefined;
          if (isTaken ? !/^400 .*not_unique/.test(other) : other !== ofNone)
            t.fail(`${what}: ${other} in place of ${ofNone}`);
        }
        if (user === undefined) continue;
        const mine = answers.get(user === ada ? adasNote : bobsNote) as Answer;
        if (name === 'insert' ? mine.status !== 400 : mine.status !== 200) t.fail(`${what}: ${mine.text}`);
        if (
          !writes.includes(name) &&
          name !== 'count' &&
          !mine.text.includes((user === ada ? adasNote : bobsNote).text)
        )
          t.fail(`${what} misses what is his: ${mine.text}`);
        if (writes.includes(name))
          await owned({
            path: '/app/notes/_delete_',
            headers: stored,
            body: { where: { code: absent.code } },
          });
      }
    }
  }
  const { body } = await owned({ path: `/app/notes/_single_?id=${oldest.id}`, headers: stored });
  t.equal(body.owner, bob.id);
  const { body: structure } = await owned({ path: '/_projects_/app/spaces/notes' });
  t.strictSame(structure.fields.length, noteFields.length, 'no field was made');
  t.ok(asked > 1000, `${asked} requests`);
  t.comment(`${asked} requests of ${Object.keys(senders).length} senders`);
});
