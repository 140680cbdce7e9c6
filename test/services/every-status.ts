import { exampleStructure } from '#records/structure/example-structure.ts';
import type { FoundOperation } from './openapi-document.ts';
import { structureOf } from './record-client.ts';
import { pageOrigin } from './serve-everything.ts';

/** A request of the coverage test, to be bent until an operation answers as wanted. */
export interface Ask {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a request needs to know of those before it. */
export interface Known {
  /** Name of a stored file. */
  readonly file: string;
  /** Name of one that is no table. */
  readonly picture: string;
  /** Id of a call of a webhook. */
  readonly delivery: string;
  /** Id of an import. */
  readonly job: string;
  /** Of a user who logged in. */
  readonly loginToken: string;
  /** Makes a record, and answers its id. */
  newId(): Promise<string>;
  /** Makes a project with a record space, and answers its slug. */
  newProject(): Promise<string>;
  /** The target of a live query with these conditions, in a project. */
  liveAddress(conditions: object, project?: string): Promise<string>;
  /** The same of a project that is gone. */
  droppedAddress(): Promise<string>;
  /** Stores a file, and answers its name. */
  newFile(): Promise<string>;
  /** Stores a file in a new folder, and answers both as the end of its address. */
  newPlace(): Promise<string>;
  /** The same of the file that a record names. */
  readonly usedPlace: string;
  /** Signs somebody up, and answers the address and the code of a mail to it. */
  newCode(purpose: 'verifyEmail' | 'resetPassword'): Promise<{ email: string; code: string }>;
  /** Stores and deletes a file, and answers its name. */
  newTrashed(): Promise<string>;
  /** Name of a file that has expired, and of one in the trash. */
  readonly expiredFile: string;
  readonly expiredTrash: string;
  /** Begins an upload of five bytes, and answers its name. */
  newUpload(): Promise<string>;
  /** Name of an upload that has expired. */
  readonly expired: string;
  /** Plans an upload of so many bytes, and answers its name, and the target of its only part. */
  newPlan(size: number): Promise<{ readonly id: string; readonly part: string }>;
  /** Name of a file that was planned. */
  newDirectFile(): Promise<string>;
  readonly expiredPlan: { readonly id: string; readonly part: string };
}

export const users = structureOf(
  'demo',
  'user',
  [
    { name: 'email', type: 'TEXT', required: true, unique: true },
    { name: 'password', type: 'TEXT', required: true, hashed: true },
  ],
  { authOptions: { active: false, sessionSeconds: 86_400 } },
);
export const hooked = structureOf('demo', 'hooked', [{ name: 'name', type: 'TEXT' }], {
  webhooks: { onInsertUrl: 'http://127.0.0.1:9/', onUpdateUrl: 'http://127.0.0.1:9/' },
});

/** Spaces of users who sign up: with a webhook for mails, without verification, and with no way to send mails. */
export const signUps = {
  members: { verified: 'verified', webhook: 'http://127.0.0.1:9/' },
  open: {},
  mute: { verified: 'verified' },
};
export const membersIn = (slug: string): string =>
  structureOf('demo', slug, [
    { name: 'email', type: 'TEXT', required: true, unique: true },
    { name: 'password', type: 'TEXT', required: true, hashed: true },
    { name: 'verified', type: 'BOOLEAN' },
  ]);
const usersIn = (slug: string) => ({
  'function-resources': `{"mustExistSpaceStructures":[{"slug":"${slug}"}]}`,
});
/** Everybody is somebody else: addresses have limits. */
let people = 0;
const newPerson = (): string => `person-${people++}@example.com`;

function isMailStep(id: string): boolean {
  return id === 'signUp' || id === 'verifyEmail' || id === 'resetPassword';
}

const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n';
const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
/** What tus asks of a request, by its operation. */
const tusHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  createUpload: { ...tus, 'upload-length': '1000' },
  getUpload: tus,
  checkUpload: tus,
  append: { ...tus, 'upload-offset': '0' },
  appendByPost: { ...tus, 'upload-offset': '0', 'x-http-method-override': 'PATCH' },
  dropUpload: tus,
};
const structureHeader = { structure: JSON.stringify(exampleStructure) };

/** The request that the document's examples make, which succeeds. */
export async function goodRequest(found: FoundOperation, known: Known): Promise<Ask> {
  const { path, method, operation } = found;
  const id: string = operation.operationId;
  const parameters: readonly { name: string; in: string }[] = operation.parameters ?? [];
  const names = new Set(parameters.filter((one) => one.in !== 'path').map(({ name }) => name));
  const space = id === 'getTokenOwner' || id === 'setOidc' ? 'user' : 'people';
  const filled = path
    .replace('{project}', /^drop(?!Upload|PlannedUpload)/.test(id) ? await known.newProject() : 'demo')
    .replace(
      '{folder}/{rest}',
      id === 'putInFolder' ? 'new/a.txt' : /InFolder$/.test(id) ? await known.newPlace() : '',
    )
    .replace('{folder}', id === 'deleteFolder' ? folderOf(await known.newPlace()) : '')
    .replace('{field}', 'age')
    .replace('{space}', space)
    .replace('{name}', await nameFor(id, known))
    .replace('{id}', known.delivery)
    .replace('{job}', known.job)
    .replace('{file}', id === 'getClient' ? 'sluice-client.js' : 'page.js');
  const json = operation.requestBody?.content['application/json'];
  const isForm = id === 'upload';
  const isCsv = id === 'importRecords';
  const isPlain = operation.requestBody !== undefined && json === undefined && !isForm;
  const query = id === 'putPart' ? '' : await queryOf(names, known);
  return {
    method,
    target: id === 'putPart' ? (await known.newPlan(5)).part : filled + query,
    headers: {
      ...(operation.security.length === 0 || isRead(id) ? {} : { authorization: 'Bearer good' }),
      ...(names.has('structure') ? (space === 'user' ? { structure: users } : structureHeader) : {}),
      ...(id === 'getTokenOwner' || (isOfLogin(id) && id !== 'login') ? { token: known.loginToken } : {}),
      ...(isOfLogin(id) ? { 'function-resources': `{"mustExistSpaceStructures":[${users}]}` } : {}),
      ...(isMailStep(id) ? usersIn('members') : {}),
      ...tusHeaders[id],
      ...(isForm ? { 'content-type': 'multipart/form-data; boundary=b' } : {}),
      ...(isCsv ? { 'content-type': 'text/csv' } : {}),
      ...(method === 'QUERY' ? { 'content-type': 'application/json' } : {}),
    },
    body: isForm
      ? form
      : isCsv
        ? 'name,age\nAda,36\n'
        : isPlain
          ? 'hello'
          : json === undefined || id === 'completeUpload'
            ? ''
            : JSON.stringify(isMailStep(id) ? { ...json.example, email: newPerson() } : json.example),
  };
}

async function nameFor(id: string, known: Known): Promise<string> {
  if (id === 'deleteFile') return known.newFile();
  if (id === 'restoreFile') return known.newTrashed();
  if (id === 'putFile') return 'hello.txt';
  if (id === 'completeUpload') return (await known.newPlan(0)).id;
  if (isOfPlan(id)) return (await known.newPlan(5)).id;
  return isAppend(id) || id === 'dropUpload' ? known.newUpload() : known.file;
}

function isOfLogin(id: string): boolean {
  return ['login', 'refreshLogin', 'logout'].includes(id);
}

/** Whether anyone may read a file by it. */
function isRead(id: string): boolean {
  return /^(?:download|checkFile)/.test(id);
}

/** Whether it is about a planned upload. */
function isOfPlan(id: string): boolean {
  return ['getPlannedUpload', 'completeUpload', 'dropPlannedUpload'].includes(id);
}

function isAppend(id: string): boolean {
  return id === 'append' || id === 'appendByPost';
}

async function queryOf(names: ReadonlySet<string>, known: Known): Promise<string> {
  if (names.has('searchText')) return '?searchText=ada&searchableFields[]=name';
  if (names.has('conditions')) return '?name=Ada';
  if (names.has('url')) return '?url=http://127.0.0.1:9/';
  return names.has('id') ? `?id=${await known.newId()}` : '';
}

/** Bends a good request until its answer should have a status; null: that takes more than a request. */
export async function bent(status: number, good: Ask, id: string, known: Known): Promise<Ask | null> {
  const withHeaders = (headers: Record<string, string>): Ask => ({
    ...good,
    headers: { ...good.headers, ...headers },
  });
  const elsewhere = good.target.replace(/^\/demo\/(?:people|user)/, '/demo/nowhere');
  if (id === 'watchRecords' && (status === 500 || status === 507))
    return { ...good, target: `${await known.liveAddress({})}&test-fault=${status}` };
  if (id === 'watchRecords' && status === 404) return { ...good, target: await known.droppedAddress() };
  if (id === 'watchRecords' && status === 413)
    return { ...good, target: await known.liveAddress({ $limit: 1 }) };
  if (/^find(?:By|$)/.test(id) && status === 413)
    return {
      ...withHeaders({ accept: 'text/event-stream' }),
      target: `${good.target.replace(/\?.*/, '')}?$limit=1`,
      body: good.body === '' ? '' : '{}',
    };
  // they need a provider (oidc-login.test.ts)
  if (/^oidc/.test(id) && (status === 200 || status === 404)) return null;
  switch (status) {
    case 204:
      return isAppend(id) ? { ...good, body: 'hel' } : good;
    case 200:
      // it goes on for ever
      if (id === 'watchRecords') return null;
      if (isAppend(id)) return withHeaders({ accept: 'application/json' });
      if (id === 'signUp') return withHeaders(usersIn('open'));
      if (id === 'verifyEmail') return { ...good, body: JSON.stringify(await known.newCode(id)) };
      if (id === 'resetPassword')
        return { ...good, body: JSON.stringify({ ...(await known.newCode(id)), password: 'new' }) };
      return id === 'importRecords' ? { ...good, target: `${good.target}?dryRun=true` } : good;
    case 201:
      return id === 'insert' ? withHeaders({ prefer: 'return=minimal' }) : good;
    case 202:
      return good;
    case 206:
      return withHeaders({ range: 'bytes=0-1' });
    case 302:
      return withHeaders({ accept: 'text/html' });
    case 307:
      // there is no bucket (download-redirects.test.ts)
      return null;
    case 304:
      return withHeaders({ 'if-none-match': '*' });
    case 400:
      return { ...withHeaders({ 'transfer-encoding': 'gzip' }), body: '0\r\n\r\n' };
    case 401:
      return withHeaders({ authorization: 'Bearer bad' });
    case 403:
      return withHeaders({ host: 'rebound.example' });
    case 404:
      return notFound(withHeaders, elsewhere, id);
    case 408:
      if (id === 'putPart') return { ...withHeaders({ 'content-length': '5' }), body: '' };
      return { ...withHeaders({ 'content-length': '500' }), body: '' };
    case 409:
      // its path has another file (folders.test.ts), as that of a complete upload
      if (['restoreFile', 'getUpload', 'checkUpload'].includes(id)) return null;
      if (id === 'planUpload')
        return {
          ...good,
          body: JSON.stringify({ name: 'a.txt', size: 1, folder: folderOf(known.usedPlace) }),
        };
      if (id === 'deleteInFolder') return { ...good, target: `/_f_/demo/${known.usedPlace}` };
      if (id === 'upload' || id === 'putFile' || id === 'putInFolder')
        return withHeaders({ 'idempotency-key': 'busy' });
      if (isAppend(id)) return withHeaders({ 'upload-offset': '3' });
      if (id === 'createUpload') return withHeaders(finalOf(await known.newUpload()));
      // a record names it
      if (id === 'deleteFile') return elsewhereIn(good, known.file);
      if (id === 'dropUpload') return elsewhereIn(good, known.file);
      if (id === 'dropPlannedUpload') return ofPlan(good, await known.newDirectFile());
      // what was planned has not arrived
      if (id === 'completeUpload') return ofPlan(good, (await known.newPlan(5)).id);
      return { ...good, target: '/_projects_/demo' };
    case 410:
      if (id === 'createUpload') return withHeaders(finalOf(known.expired));
      if (id === 'putPart') return { ...good, target: known.expiredPlan.part };
      if (isOfPlan(id)) return ofPlan(good, known.expiredPlan.id);
      if (id === 'createLink') return { ...good, target: good.target.replace(known.file, known.expiredFile) };
      if (id === 'restoreFile')
        return { ...good, target: good.target.replace(/[^/]+(?=\/restore$)/, known.expiredTrash) };
      if (isRead(id)) return elsewhereIn(good, known.expiredFile);
      return elsewhereIn(good, known.expired);
    case 412:
      return /^(?:download|checkFile|deleteFile$|deleteInFolder|put(?:File|InFolder))/.test(id)
        ? withHeaders({ 'if-match': '"another"' })
        : withHeaders({ 'tus-resumable': '0.2.2' });
    case 413:
      return { ...withHeaders({ 'content-length': '100000000' }), body: '' };
    case 415:
      if (id === 'queryFileByBody')
        return { ...good, target: good.target.replace(known.file, known.picture) };
      return good.method === 'QUERY' || /^(?:append|importRecords|createUpload$)/.test(id)
        ? { ...withHeaders({ 'content-type': 'text/plain' }), body: 'hello' }
        : { ...withHeaders({ 'content-encoding': 'br' }), body: good.body || '{}' };
    case 422:
      if (id === 'createLiveAddress') return guess(good, 'find');
      // a text is no picture
      if (isRead(id)) return { ...good, target: `${good.target}?preset=thumb` };
      if (/^(?:queryFile|aggregate|count|export|find|search|updateOne$|updateMany|deleteMany)/.test(id))
        return withHeaders({ 'test-fault': '422' });
      if (/^(?:createUpload|append|completeUpload)/.test(id)) return withHeaders({ 'test-fault': 'refused' });
      return withHeaders({ 'idempotency-key': 'used' });
    case 460:
      return { ...withHeaders({ 'upload-checksum': 'crc32 AAAAAA==' }), body: 'hello' };
    case 416:
      return withHeaders({ range: 'bytes=999-' });
    case 429:
      return guess(good, id);
    case 431:
      return withHeaders({ 'x-large': 'a'.repeat(70_000) });
    case 500:
    case 503:
    case 507:
      return id === 'getMetrics' || (good.headers.authorization === undefined && !isRead(id))
        ? null
        : withHeaders({ 'test-fault': String(status), authorization: 'Bearer good' });
    case 501:
      if (isMailStep(id)) return withHeaders(usersIn('mute'));
      // with the engine that tests have, and for one process, it is there
      return /^(?:queryFile|find|watchRecords)/.test(id) || isRead(id) ? null : good;
    default:
      throw new Error(`nobody knows how to get ${status}`);
  }
}

/** Of a file that is made of a partial upload. */
const finalOf = (upload: string) => ({ 'upload-concat': `final;/_f_/demo/resumable/${upload}` });

/** The same of another planned upload. */
function ofPlan(good: Ask, name: string): Ask {
  return { ...good, target: good.target.replace(/(?<=\/direct\/)[^/]+/, name) };
}

/** The same of another upload. */
function elsewhereIn(good: Ask, name: string): Ask {
  return { ...good, target: good.target.replace(/[^/]+$/, name) };
}

const nowhere: Readonly<Record<string, string>> = {
  listFiles: '/_f_/nowhere',
  listSpaces: '/_projects_/nowhere/spaces',
  getSpace: '/_projects_/demo/spaces/nowhere',
  getJob: '/_jobs_/nothing',
  cancelJob: '/_jobs_/nothing',
  getRules: '/_projects_/demo/spaces/nowhere/rules',
  setRules: '/_projects_/demo/spaces/nowhere/rules',
  getOidc: '/_projects_/demo/spaces/nowhere/oidc',
  setOidc: '/_projects_/demo/spaces/nowhere/oidc',
  tryRules: '/_projects_/demo/spaces/nowhere/rules/try',
  getFileRules: '/_projects_/nowhere/files/rules',
  setFileRules: '/_projects_/nowhere/files/rules',
  tryFileRules: '/_projects_/nowhere/files/rules/try',
  getImagePresets: '/_projects_/nowhere/files/presets',
  dropProject: '/_projects_/nowhere',
  dropSpace: '/_projects_/demo/spaces/nowhere',
  dropField: '/_projects_/demo/spaces/people/fields/nothing',
};

const noFolder = '01a22bd5-8854-7642-81c6-522ddce75960';

/** Of the end of an address. */
function folderOf(place: string): string {
  return place.slice(0, place.indexOf('/'));
}

function notFound(withHeaders: (headers: Record<string, string>) => Ask, elsewhere: string, id: string): Ask {
  if (id === 'createUpload') return withHeaders(finalOf('x'));
  const inNone = ask404(id, withHeaders({}));
  if (inNone !== null) return inNone;
  if (id === 'getMetrics') return withHeaders({ 'x-forwarded-for': '192.0.2.1' });
  const absent = { 'auto-create-record-space': 'false' };
  // what brings a structure in its body does not go by the stored one
  const stored = /^set(?:Inferred)?Structure/.test(id)
    ? {}
    : { structure: '', 'use-pre-stored-structure': 'true' };
  const ask = withHeaders({ ...absent, ...stored });
  if (isOfLogin(id)) {
    const elsewhereUsers = users.replace('"slug":"user"', '"slug":"nowhere"');
    const resources = `{"mustExistSpaceStructures":[${elsewhereUsers}]}`;
    return { ...ask, headers: { ...ask.headers, 'function-resources': resources } };
  }
  if (isMailStep(id)) return { ...ask, headers: { ...ask.headers, ...usersIn('nowhere') } };
  const missing = nowhere[id];
  // rules make the project
  if (id === 'setFileRules') return { ...ask, target: missing as string, body: 'null' };
  if (missing !== undefined) return { ...ask, target: missing };
  if (id === 'setStructure') return { ...ask, target: elsewhere, body: '{"recordStructure":[]}' };
  if (isOfPlan(id) || id === 'putPart') return ofPlan(ask, 'nothing');
  const target = /^\/_/.test(elsewhere)
    ? elsewhere.replace(/\/[^/]{6,}(?=\/(?:link|restore|send|_find_)$|$)/, '/nothing')
    : elsewhere;
  return { ...ask, target };
}

/** About a folder that is not there; null: the operation is not about folders. */
function ask404(id: string, good: Ask): Ask | null {
  if (id === 'planUpload')
    return { ...good, body: JSON.stringify({ name: 'a.txt', size: 1, folder: noFolder }) };
  if (id === 'upload' || id === 'putFile') return { ...good, target: `${good.target}?folder=${noFolder}` };
  if (id === 'deleteFolder') return { ...good, target: `/_f_/demo/${noFolder}/` };
  return /InFolder$/.test(id) ? { ...good, target: `/_f_/demo/${noFolder}/a.txt` } : null;
}

/** A wrong password, for a user of whom others were tried before. */
function guess(good: Ask, id: string): Ask {
  const wrong = { email: 'grace@example.com', password: 'wrong' };
  if (id === 'login') return { ...good, body: JSON.stringify(wrong) };
  if (isMailStep(id)) {
    const password = id === 'resetPassword' ? { password: 'new' } : {};
    return { ...good, body: JSON.stringify({ email: wrong.email, code: 'AAAA-AAAA', ...password }) };
  }
  const target = good.target.replace('/people', '/user').replace(/\?.*/, '');
  const query = `?email=${encodeURIComponent(wrong.email)}&password=wrong`;
  const more = {
    aggregate: { values: { n: 'count' } },
    updateMany: { set: { password: 'another' } },
    deleteMany: {},
  }[id.replace(/By(?:Query|Body)$/, '')];
  if (more !== undefined) {
    const body = JSON.stringify({ where: wrong, ...more });
    return {
      ...good,
      headers: { ...good.headers, structure: users },
      target,
      body,
    };
  }
  const inBody = /^(?:find|count)/.test(id) && good.body !== '';
  return {
    ...good,
    headers: { ...good.headers, structure: users },
    target: inBody ? target : target + query,
    body: inBody ? JSON.stringify(wrong) : good.body === '' ? '' : '{"email":"b@example.com"}',
  };
}

export function bytesOf({ method, target, headers, body }: Ask): Uint8Array {
  const length =
    headers['content-length'] === undefined && headers['transfer-encoding'] === undefined && body !== ''
      ? { 'content-length': Buffer.byteLength(body) }
      : {};
  const lines = Object.entries({ host: 'test', origin: pageOrigin, ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return Buffer.from([`${method} ${target} HTTP/1.1`, ...lines, '', body].join('\r\n'));
}
