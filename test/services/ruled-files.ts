import type { Test } from 'tap';
import { fieldsOf, structureOf } from './record-client.ts';
import { runToEnd, sluiceFor } from './start-sluice.ts';

/** The secret of login tokens. */
export const loginSecret = 'a secret for tokens that is as long as it has to be';

export interface Call {
  readonly method?: string;
  /** Or a whole address. */
  readonly path: string;
  readonly body?: unknown;
  /** Sent as it is. */
  readonly bytes?: string | FormData;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
  json(): any;
}

interface LoggedIn {
  readonly id: string;
  /** A login token. */
  readonly token: string;
}

const userFields = fieldsOf('name TEXT unique, password TEXT hashed');
const own = { owner: '$user.id' };
/** Everybody has its own files. */
export const ownRules = { upload: own, read: own, list: own, delete: own };

/** A server with private files, the project `app` with two users and rules of files, and a publishable token. */
export async function openRuledFiles(t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}) {
  const sluice = await sluiceFor(t, {
    env: { LOGIN_TOKEN_SECRET: loginSecret, FILE_LINKS: 'private', ...env },
  });
  const ask = async ({ method, path, body, bytes, headers }: Call): Promise<Answer> => {
    const response = await fetch(path.startsWith('http') ? path : sluice.baseUrl + path, {
      method: method ?? (body === undefined && bytes === undefined ? 'GET' : 'POST'),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(bytes === undefined ? {} : { body: bytes }),
    });
    const text = await response.text();
    return { status: response.status, text, headers: response.headers, json: () => JSON.parse(text) };
  };
  const asOwner = { authorization: `Bearer ${sluice.token}` };
  const owned = async (call: Call): Promise<Answer> => {
    const answer = await ask({ ...call, headers: { ...asOwner, ...call.headers } });
    if (answer.status >= 400) throw new Error(`${call.path}: ${answer.text}`);
    return answer;
  };
  const tokenOf = async (...options: string[]): Promise<string> => {
    const { stdout, stderr, status } = await runToEnd('cli/token.ts', options, {
      ...env,
      DATA_DIR: sluice.dataDir,
    });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  /** A user of a space. */
  const userOf = async (
    project: string,
    space: string,
    name: string,
    token = sluice.token,
  ): Promise<LoggedIn> => {
    const headers = { authorization: `Bearer ${token}` };
    const structure = JSON.parse(structureOf(project, space, userFields));
    const made = await ask({
      path: `/${project}/${space}/_single_`,
      body: { name, password: 'right' },
      headers: { ...headers, structure: JSON.stringify(structure) },
    });
    const resources = JSON.stringify({ mustExistSpaceStructures: [structure] });
    const login = await ask({
      path: `/${project}/function/login`,
      body: { name, password: 'right' },
      headers: { ...headers, 'function-resources': resources },
    });
    return { id: made.json().id, token: login.json().token };
  };
  const dropUser = ({ id }: LoggedIn): Promise<Answer> =>
    owned({
      method: 'DELETE',
      path: `/app/users?id=${id}`,
      headers: { 'use-pre-stored-structure': 'true' },
    });
  const setRules = (rules: unknown) =>
    owned({ method: 'PUT', path: '/_projects_/app/files/rules', body: rules });
  const [ada, bob] = [await userOf('app', 'users', 'ada'), await userOf('app', 'users', 'bob')];
  await setRules(ownRules);
  const publishable = await tokenOf('--publishable', '--origin', 'https://app.example.com');
  const page = (user?: LoggedIn) => ({
    authorization: `Bearer ${publishable}`,
    ...(user && { token: user.token }),
  });
  const acting = ({ token }: Pick<LoggedIn, 'token'>) => ({
    ...asOwner,
    'sluice-act-as-user': 'true',
    token,
  });
  return { sluice, ask, asOwner, owned, tokenOf, userOf, dropUser, setRules, ada, bob, page, acting };
}
