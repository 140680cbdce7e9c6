/**
 * Every operation on files, by everybody: nobody gets at a file that the rules do not give him, and what he is answered about
 * it is what he is answered where there is none.
 */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { createLoginTokens } from '#auth/login-tokens.ts';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { gatewayOperations } from '#gateway/operations.ts';
import { type Answer, type Call, loginSecret, openRuledFiles } from '../services/ruled-files.ts';

const { ask, asOwner, owned, tokenOf, userOf, dropUser, ada, bob, page, acting } = await openRuledFiles(t, {
  TRASH_DAYS: '7',
});
const gone = await userOf('app', 'users', 'gone');
await dropUser(gone);

const forRecords = await tokenOf('--publishable', '--origin', '*', '--space', 'notes');
const otherAccount = await tokenOf('--user', 'other@x.io', '--create-user');
const ungranted = await tokenOf('--may', 'find');
const issued = createLoginTokens({ keys: createConfiguredKeys(loginSecret), ttl: 60_000 });
const old = createLoginTokens({ keys: createConfiguredKeys(loginSecret), ttl: -10_000 });
const claims = JSON.parse(Buffer.from(ada.token.split('.')[1] as string, 'base64url').toString());
const adas = { projectId: claims.pid, spaceId: claims.sid, recordId: ada.id };

interface Sender {
  readonly headers: Readonly<Record<string, string>>;
  /** Refused whatever it asks for; null: the rules decide. */
  readonly refused: number | null;
  readonly user?: { readonly id: string };
}
const senders: Readonly<Record<string, Sender>> = {
  'no token': { headers: {}, refused: 401 },
  'a token without the grant': { headers: { authorization: `Bearer ${ungranted}` }, refused: 403 },
  'a publishable token of some spaces': {
    headers: { authorization: `Bearer ${forRecords}`, token: ada.token },
    refused: 403,
  },
  'a page of another origin': {
    headers: { ...page(ada), origin: 'https://evil.example.com' },
    refused: 403,
  },
  'a stranger': { headers: page(), refused: null },
  'a server for nobody': { headers: { ...asOwner, 'sluice-act-as-user': 'true' }, refused: null },
  ada: { headers: { ...page(ada), origin: 'https://app.example.com' }, refused: null, user: ada },
  bob: { headers: page(bob), refused: null, user: bob },
  'a server for ada': { headers: acting(ada), refused: null, user: ada },
  'a user who is gone': { headers: page(gone), refused: 401 },
  'a server for a user who is gone': { headers: acting(gone), refused: 401 },
  'a login token of another space': {
    headers: page(await userOf('app', 'admins', 'ada')),
    refused: 401,
  },
  'one of another project': { headers: page(await userOf('app2', 'users', 'ada')), refused: 401 },
  'one of another account': {
    headers: page(await userOf('app', 'users', 'ada', otherAccount)),
    refused: 401,
  },
  'an expired one': { headers: page({ ...ada, token: await old.issue(adas) }), refused: 401 },
  'one for a record that is no user': {
    headers: page({ ...ada, token: await issued.issue({ ...adas, recordId: 'nobody' }) }),
    refused: 401,
  },
};

interface Subject {
  /** Of a stored file. */
  readonly name: string;
  /** Of an upload under way. */
  readonly upload: string;
  /** Of a planned one, whose file is empty. */
  readonly plan: string;
  readonly mark: string;
  /** Of a file in the trash. */
  readonly trashed: string;
}
let marks = 0;
const tus = { 'tus-resumable': '1.0.0' };

/** A file, and an upload under way, of a user. */
async function subjectOf({ token }: { readonly token: string }): Promise<Subject> {
  const mark = `mark${marks++}x`;
  const headers = acting({ token });
  const file = await owned({ method: 'PUT', path: `/_f_/app/${mark}.csv`, bytes: `a\n${mark}\n`, headers });
  const began = await owned({
    method: 'POST',
    path: '/_f_/app/resumable',
    headers: { ...headers, ...tus, 'upload-length': '6' },
  });
  const upload = (began.headers.get('location') as string).split('/').at(-1) as string;
  const planned = await owned({
    path: '/_f_/app/direct',
    body: { name: 'empty.txt', size: 0 },
    headers,
  });
  const { name: trashed } = (
    await owned({ method: 'PUT', path: '/_f_/app/trashed.csv', bytes: 'a', headers })
  ).json();
  await owned({ method: 'DELETE', path: `/_f_/app/${trashed}` });
  return { name: file.json().name, upload, plan: planned.json().id, mark, trashed };
}
const absent: Subject = {
  name: `${randomUUID()}_markNONEx.csv`,
  upload: `${randomUUID()}_file`,
  plan: '01a22bd5-8854-7642-81c6-522ddce75960_empty.txt',
  mark: 'markNONEx',
  trashed: `${randomUUID()}_trashed.csv`,
};

const form = (): FormData => {
  const body = new FormData();
  body.set('file', new Blob(['x'], { type: 'text/plain' }), 'new.txt');
  return body;
};
const chunk = { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };

/** What each operation is asked about a subject; the table of a file has two routes. */
const questions: Readonly<
  Record<string, (subject: Subject) => Omit<Call, 'path'> & { readonly path: string }>
> = {
  upload: () => ({ path: '/upload', bytes: form() }),
  uploadLink: () => ({ path: '/upload-link', body: { expiresIn: 60 } }),
  createUpload: () => ({
    method: 'POST',
    path: '/resumable',
    bytes: 'abc',
    headers: { ...chunk, 'upload-length': '3' },
  }),
  uploadState: ({ upload }) => ({ method: 'HEAD', path: `/resumable/${upload}`, headers: tus }),
  append: ({ upload }) => ({
    method: 'PATCH',
    path: `/resumable/${upload}`,
    bytes: 'abc',
    headers: chunk,
  }),
  appendByPost: ({ upload }) => ({
    path: `/resumable/${upload}`,
    bytes: 'abc',
    headers: { ...chunk, 'x-http-method-override': 'PATCH' },
  }),
  dropUpload: ({ upload }) => ({ method: 'DELETE', path: `/resumable/${upload}`, headers: tus }),
  planDirect: () => ({ path: '/direct', body: { name: 'new.txt', size: 1 } }),
  directState: ({ plan }) => ({ path: `/direct/${plan}?uploaded=true` }),
  completeDirect: ({ plan }) => ({ path: `/direct/${plan}/complete`, body: {} }),
  dropDirect: ({ plan }) => ({ method: 'DELETE', path: `/direct/${plan}` }),
  deleteFiles: ({ name }) => ({ path: '/_delete_', body: { names: [name] } }),
  listFiles: ({ mark }) => ({ path: `?name=${mark}&count=true` }),
  link: ({ name }) => ({ path: `/${name}/link`, body: { expiresIn: 60 } }),
  restoreFile: ({ trashed }) => ({ method: 'POST', path: `/${trashed}/restore` }),
  download: ({ name }) => ({ path: `/${name}`, headers: { range: 'bytes=0-1', 'if-none-match': '"x"' } }),
  putFile: ({ name }) => ({ method: 'PUT', path: `/${name}`, bytes: 'x', headers: { 'if-match': '*' } }),
  deleteFile: ({ name }) => ({ method: 'DELETE', path: `/${name}` }),
  queryFile: ({ name }) => ({ method: 'QUERY', path: `/${name}`, body: {} }),
  queryFileByBody: ({ name }) => ({ path: `/${name}/_find_`, body: {} }),
};
/** They are about no file. */
const ofNoFile = ['upload', 'uploadLink', 'createUpload', 'planDirect'];

/** What an answer says, without what differs each time. */
function saidBy({ status, text, headers }: Answer, { name, upload, plan, mark, trashed }: Subject): string {
  const plain = text
    .replaceAll(/"(?:timestamp|requestId|createdAt|updatedAt|path)":"[^"]*"/g, '')
    .replaceAll(name, 'NAME')
    .replaceAll(trashed, 'TRASHED')
    .replaceAll(upload, 'UPLOAD')
    .replaceAll(plan, 'PLAN');
  const shown = ['etag', 'last-modified', 'upload-offset', 'upload-length', 'upload-metadata'];
  const said = status < 400 ? shown.map((header) => headers.get(header)) : [];
  return `${status} ${plain.replaceAll(mark, 'MARK')} ${said}`;
}

t.test('by everybody', async (t) => {
  const tables = ['queryFile', 'queryFileByBody'];
  // those without access ask nobody who he is
  const asked = gatewayOperations.filter(({ access }) => access !== 'none');
  t.strictSame(Object.keys(questions), [...asked.map(({ name }) => name), ...tables]);
  let [ofAda, ofBob] = [await subjectOf(ada), await subjectOf(bob)];
  for (const [operation, question] of Object.entries(questions)) {
    for (const [who, { headers, refused, user }] of Object.entries(senders)) {
      const what = `${who}: ${operation}`;
      const answers = new Map<Subject, Answer>();
      for (const subject of [ofAda, ofBob, absent]) {
        const call = question(subject);
        const answer = await ask({
          ...call,
          path: `/_f_/app${call.path}`,
          headers: { ...call.headers, ...headers },
        });
        answers.set(subject, answer);
        const isOwn = (user === ada && subject === ofAda) || (user === bob && subject === ofBob);
        if (answer.status >= 500) t.fail(`${what}: ${answer.text}`);
        if (refused !== null) {
          t.equal(answer.status, refused, `${what}: ${answer.text}`);
        } else if (isOwn) {
          t.ok(answer.status < 400, `${what}: ${answer.status} ${answer.text}`);
        } else if (subject !== absent && !ofNoFile.includes(operation)) {
          if (answer.status < 400 && answer.text.includes(subject.name)) {
            t.equal(operation, 'deleteFiles', `${what} shows a file`);
          }
          // it is as it was
          await owned({ path: `/_f_/app/${subject.name}` });
          const { headers: state } = await owned({
            method: 'HEAD',
            path: `/_f_/app/resumable/${subject.upload}`,
            headers: tus,
          });
          t.equal(state.get('upload-offset'), '0', `${what} adds no bytes`);
          const plan = await owned({ path: `/_f_/app/direct/${subject.plan}` });
          t.equal(plan.json().state, 'open', `${what} ends no planned upload`);
        }
      }
      // a user may have removed its own
      if (user !== undefined) [ofAda, ofBob] = [await subjectOf(ada), await subjectOf(bob)];
      if (ofNoFile.includes(operation)) continue;
      const said = [...answers].map(([subject, answer]) => saidBy(answer, subject));
      const [saidOfAdas, saidOfBobs, saidOfNone] = said as [string, string, string];
      if (user !== ada) t.equal(saidOfAdas, saidOfNone, `${what}, about a file of ada and none`);
      if (user !== bob) t.equal(saidOfBobs, saidOfNone, `${what}, about a file of bob and none`);
    }
  }
});
