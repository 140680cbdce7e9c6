import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { recordsIdOf } from '#query/space/catalogue-entry.ts';
import { call, fieldsOf, structureOf } from './record-client.ts';

type Server = { readonly baseUrl: string };

/** A person at the dashboard of a server, over HTTP. */
export class DashboardUser {
  #cookie = '';
  #csrf = '';
  id = '';
  readonly email: string;
  readonly password: string;

  constructor(email: string) {
    this.email = email;
    this.password = `the password of ${email}`;
  }

  async send(server: Server, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
    const response = await fetch(`${server.baseUrl}/_console_/api${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
        cookie: this.#cookie,
        'x-csrf-token': this.#csrf,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: answers are JSON of any shape
    const json: any = text === '' ? null : JSON.parse(text);
    this.#cookie = response.headers.get('set-cookie')?.split(';')[0] ?? this.#cookie;
    this.#csrf = json?.csrfToken ?? this.#csrf;
    this.id = json?.account?.id ?? this.id;
    return { status: response.status, body: json };
  }

  register(server: Server, more: object = {}) {
    return this.send(server, '/register', { email: this.email, password: this.password, ...more });
  }

  logIn(server: Server) {
    return this.send(server, '/login', { email: this.email, password: this.password });
  }

  deleteAccount(server: Server) {
    return this.send(server, '/account/delete', { email: this.email, password: this.password });
  }

  async newToken(server: Server, name = 'of a test'): Promise<string> {
    return (await this.send(server, '/tokens', { name })).body.token;
  }
}

export const structure = structureOf('diary', 'pages', fieldsOf('text TEXT, n NUMBER unique'));
const note = (owner: DashboardUser): string => `a secret of ${owner.email}`;

/** The processes that serve an account; one may be all of them. */
export interface Processes {
  readonly console: Server;
  readonly gateway: Server;
  readonly query: Server;
}

/** Gives an account something of everything: records, files, uploads that are not complete, tokens, a dropped space. */
export async function useAccount(
  processes: Processes,
  user: DashboardUser,
): Promise<{ token: string; link: string }> {
  const { gateway, query } = processes;
  const token = await user.newToken(processes.console);
  const ask = async (path: string, more: object): Promise<void> => {
    const { baseUrl } = path.startsWith('/_f_/') ? gateway : query;
    const answer = await fetch(baseUrl + path, {
      ...more,
      headers: { authorization: `Bearer ${token}`, ...(more as { headers?: object }).headers },
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    await answer.body?.cancel();
  };
  const body = Array.from({ length: 50 }, (_, n) => ({ text: note(user), n }));
  const headers = { 'idempotency-key': 'once' };
  await call({ ...query, token, path: '/diary/pages', structure, body, headers });
  const other = structureOf('diary', 'drafts', fieldsOf('text TEXT'));
  await call({ ...query, token, path: '/diary/drafts', structure: other, body: [{ text: note(user) }] });
  await ask('/_projects_/diary/spaces/drafts', { method: 'DELETE' });
  await call({ ...query, token, path: '/diary/drafts', structure: other, body: [{ text: note(user) }] });
  const file = { method: 'PUT', body: note(user), headers: { 'content-type': 'text/plain' } };
  await ask('/_f_/diary/note.txt', file);
  await ask('/_f_/letters/note.txt', file);
  const photo = await fetch(`${gateway.baseUrl}/_f_/diary/photo.txt`, {
    ...file,
    headers: { authorization: `Bearer ${token}` },
  });
  const { name } = (await photo.json()) as { name: string };
  const album = structureOf('diary', 'album', fieldsOf('photo FILE, email TEXT unique'));
  await call({ ...query, token, path: '/diary/album', structure: album, body: [{ photo: name }] });
  const oidc = {
    issuer: 'https://login.example.com',
    ...{ clientId: 'app', clientSecret: note(user), returnTo: ['https://app.example.com/'] },
  };
  await ask('/_projects_/diary/spaces/album/oidc', { method: 'PUT', body: JSON.stringify(oidc) });
  const tus = { 'tus-resumable': '1.0.0', 'upload-length': '100', 'upload-metadata': 'filename bm90ZQ==' };
  await ask('/_f_/diary/resumable', { method: 'POST', headers: tus });
  const csv = { 'content-type': 'text/csv', structure };
  await ask('/diary/pages/_import_', { method: 'POST', body: `text,n\n${note(user)},1000\n`, headers: csv });
  const made = await fetch(`${gateway.baseUrl}/_f_/diary/upload-link`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ expiresIn: 600 }),
  });
  return { token, link: ((await made.json()) as { put: string }).put.replace('{name}', 'by-link.txt') };
}

/** Texts of which nothing may be left: ids of the account and its spaces, its address, and what it wrote. */
export function tracesOf(user: DashboardUser): readonly string[] {
  const spaces = ['pages', 'drafts', 'album'].map((slug) => uuidV5(user.id, 'diary', slug));
  const versions = [1, 2 ** 32 + 1];
  const records = spaces.flatMap((id) => versions.map((version) => recordsIdOf({ id, version, store: 0 })));
  return [user.id, user.email, note(user), ...spaces, ...records];
}

/** Rows that hold one of the texts, by table. @param rows runs a SELECT */
export async function rowsWith(
  rows: (sql: string) => Promise<readonly Record<string, unknown>[]>,
  database: string,
  texts: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number> = {};
  const tables = await rows(`SELECT name FROM system.tables WHERE database = '${database}' ORDER BY name`);
  // of an account, only its id stays, so that nobody gets it again
  const kept = ['closed_accounts', 'account_removals'];
  for (const { name } of tables as { name: string }[]) {
    if (kept.includes(name)) continue;
    const all = await rows(`SELECT * FROM ${database}.\`${name}\``);
    const some = all.filter((row) => texts.some((text) => JSON.stringify(row).includes(text)));
    if (some.length > 0) found[name] = some.length;
  }
  return found;
}
