import { exampleStructure } from '#records/structure/example-structure.ts';
import { curl, keeping } from '#server/openapi/curl.ts';

/** A sample command for an operation. Whatever is absent follows from the operation's description. */
export interface Sample {
  /** The query string of the address. */
  readonly query?: string;
  /** Slug of its space; absent: people. */
  readonly space?: string;
  /** Absent: the structure, where the operation takes it as a header. */
  readonly headers?: Readonly<Record<string, unknown>>;
  /** Absent: the example of the body. */
  readonly body?: unknown;
  /** Further arguments of curl. */
  readonly more?: readonly string[];
  /** Commands that prepare it. @param base address without trailing slash */
  readonly first?: (base: string) => string;
}

export const structureHeader = { structure: exampleStructure };

/** @param path of the operation, with `:project` and `:space` to be filled in */
export function sampleText(
  base: string,
  { method, path }: { readonly method: string; readonly path: string },
  { query = '', space = 'people', first, ...args }: Sample,
): string {
  const url = `${base}${path.replace(':project', 'demo').replace(':space', space)}${query}`;
  // curl chooses GET and POST itself
  const named = method === 'GET' || method === 'POST' ? {} : { method };
  return (first?.(base) ?? '') + curl({ url, ...named, ...args });
}

const person = { name: 'Ada', age: 36 };
const insertPerson = { method: 'POST', path: '/:project/:space/_single_' };

export function makePerson(base: string): string {
  return `${sampleText(base, insertPerson, { headers: structureHeader, body: person })}\n`;
}

/** Stores the id of a new record in the variable ID. */
export function idOfNewPerson(base: string): string {
  return `${keeping('ID', 'id', makePerson(base).trimEnd())}\n`;
}

export const credentials = { email: 'ada@example.com', password: 'correct horse' };

const users = {
  name: 'User',
  description: '',
  projectSlug: 'demo',
  slug: 'user',
  recordStructure: [
    { name: 'email', slug: 'email', type: 'TEXT', hashed: false },
    { name: 'password', slug: 'password', type: 'TEXT', hashed: true },
  ].map((field) => ({ ...field, required: true, unique: false, description: '', comment: '' })),
};

function makeUser(base: string): string {
  const made = { space: 'user', headers: { structure: users }, body: credentials };
  return `${sampleText(base, insertPerson, made)}\n`;
}

export const loginSample: Sample = {
  first: makeUser,
  headers: { 'function-resources': { mustExistSpaceStructures: [users] } },
};

/** Stores a login token of a new user in the variable LOGIN_TOKEN. @param space of the users, as login takes it */
function logIn(base: string, space: object = users): string {
  const headers = { 'function-resources': { mustExistSpaceStructures: [space] } };
  const login = { method: 'POST', path: '/:project/function/login' };
  const command = sampleText(base, login, { headers, body: credentials });
  const made = { space: 'user', headers: { structure: space }, body: credentials };
  return `${sampleText(base, insertPerson, made)}\n${keeping('LOGIN_TOKEN', 'token', command)}\n`;
}

const ofLogin = {
  'function-resources': { mustExistSpaceStructures: [{ slug: 'user' }] },
  token: '$LOGIN_TOKEN',
};

export const tokenOwnerSample: Sample = {
  first: logIn,
  space: 'user',
  headers: { structure: users, token: '$LOGIN_TOKEN' },
};

export const refreshSample: Sample = {
  first: (base) => logIn(base, { ...users, authOptions: { active: false, sessionSeconds: 30 * 24 * 3600 } }),
  headers: ofLogin,
};

export const logoutSample: Sample = { first: logIn, headers: ofLogin };
