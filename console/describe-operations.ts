import {
  type ApiHeader,
  type ApiOperation,
  bodyErrors,
  databaseErrors,
  doorErrors,
  jsonContent,
  usualErrors,
} from '../common/openapi/api-operation.ts';
import { dateTime, exactObject, named, nullable, type Schema } from '../common/openapi/schema.ts';
import { longestEmail, passwordLength } from './accounts/credentials.ts';

const tag = 'Dashboard';
const text: Schema = { type: 'string' };
const uuid: Schema = { type: 'string', format: 'uuid' };
const email: Schema = { type: 'string', maxLength: longestEmail, description: 'Whatever its letter case' };
const { min: minLength, max: maxLength } = passwordLength;
const password: Schema = { type: 'string', minLength, maxLength };

const header = (description: string): ApiHeader => ({ description, schema: text, always: true });
const noStore = {
  'Cache-Control': header('no-store'),
  'X-Content-Type-Options': header('nosniff'),
  'Cross-Origin-Resource-Policy': header('same-origin'),
};
const withCookie = { ...noStore, 'Set-Cookie': header('The session: HttpOnly, SameSite=Lax, Secure on TLS') };

const csrf = {
  name: 'X-CSRF-Token',
  in: 'header',
  description: 'The `csrfToken` of the session',
  required: true,
  schema: text,
} as const;

const session = named(
  'DashboardSession',
  exactObject({
    account: nullable(exactObject({ id: text, email: text, name: text }, { description: 'Null: nobody' })),
    csrfToken: nullable({ type: 'string', description: 'For the header X-CSRF-Token of each change' }),
    registration: { type: 'string', enum: ['first', 'open', 'closed'], description: 'REGISTRATION' },
    canRegister: { type: 'boolean' },
    canClaim: { type: 'boolean', description: 'The account of the first start has no e-mail address yet' },
    apiUrl: { type: 'string', description: 'Base address of the API; empty: this one' },
  }),
);

const accessToken = {
  id: uuid,
  name: text,
  createdAt: dateTime,
  lastUsedAt: nullable({ ...dateTime, description: 'As it was noted a minute ago' }),
  expiresAt: nullable(dateTime),
  revokedAt: nullable(dateTime),
};

const storeErrors = [...usualErrors, ...databaseErrors];
/** Of a change that anybody may ask for. */
const openErrors = [...storeErrors, ...bodyErrors, 'wrong_content_type', 'csrf_refused'] as const;
/** Of a change of a session. */
const changeErrors = [...openErrors, 'unauthorized'] as const;

function operation(
  api: Pick<ApiOperation, 'id' | 'summary' | 'answers' | 'errors'> & Partial<ApiOperation>,
): ApiOperation {
  return { tag, access: 'session', ...api };
}

function json(description: string, schema: Schema, example?: unknown): NonNullable<ApiOperation['body']> {
  return { description, content: jsonContent(schema, example) };
}

/** How the description of the API shows the operations of the dashboard. */
export const descriptions = {
  session: operation({
    id: 'getDashboardSession',
    summary: 'Ask who is logged in',
    description: 'Also for nobody: it says whether one can register.',
    access: 'none',
    answers: { 200: { description: 'The session', headers: noStore, content: jsonContent(session) } },
    errors: storeErrors,
    sample: (base) => `curl -sS ${base}/_console_/api/session`,
  }),
  register: operation({
    id: 'registerAccount',
    summary: 'Register, or claim the first account',
    description:
      'REGISTRATION says who may. With an access token of the account that the first start made, that account gets the e-mail address and password, once; its data stays its own. A refusal does not say why.',
    access: 'none',
    body: json(
      'The account',
      {
        type: 'object',
        required: ['email', 'password'],
        properties: {
          email,
          password,
          name: { type: 'string', maxLength: 200 },
          claimToken: nullable(text),
        },
      },
      { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' },
    ),
    answers: {
      201: { description: 'The session that begins', headers: withCookie, content: jsonContent(session) },
    },
    errors: [...openErrors, 'registration_refused'],
  }),
  login: operation({
    id: 'logInToDashboard',
    summary: 'Log in to the dashboard',
    description:
      'Each failure makes the next attempt for an address wait longer, whether it has an account or not.',
    access: 'none',
    body: json(
      'The credentials',
      { type: 'object', required: ['email', 'password'], properties: { email: text, password: text } },
      { email: 'ada@example.com', password: 'correct horse battery' },
    ),
    answers: {
      200: { description: 'The session that begins', headers: withCookie, content: jsonContent(session) },
    },
    errors: [...changeErrors, 'too_many_attempts'],
  }),
  logout: operation({
    id: 'logOutOfDashboard',
    summary: 'Log out',
    description: 'The session ends, and its access tokens with it: everywhere within a second.',
    parameters: [csrf],
    answers: { 204: { description: 'The session is over', headers: withCookie } },
    errors: changeErrors,
  }),
  password: operation({
    id: 'changePassword',
    summary: 'Change the password',
    description:
      'All sessions of the account end, and their access tokens with them. The answer begins a new one, which has a CSRF token of its own.',
    parameters: [csrf],
    body: json('Both passwords', {
      type: 'object',
      required: ['current', 'next'],
      properties: { current: text, next: password },
    }),
    answers: { 204: { description: 'It is changed', headers: withCookie } },
    errors: [...changeErrors, 'wrong_password', 'too_many_attempts'],
  }),
  token: operation({
    id: 'issueSessionToken',
    summary: 'Get an access token for a while',
    description:
      'For 15 minutes, and not longer than the session lives. It is not among the access tokens of the account.',
    parameters: [csrf],
    answers: {
      200: {
        description: 'The token',
        headers: noStore,
        content: jsonContent(exactObject({ token: text, expiresAt: dateTime })),
      },
    },
    errors: changeErrors,
  }),
  tokens: operation({
    id: 'listAccessTokens',
    summary: 'List access tokens',
    description: 'The newest first; those that ended more than 90 days ago are left out.',
    answers: {
      200: {
        description: 'The tokens, without their texts',
        headers: noStore,
        content: jsonContent(exactObject({ tokens: { type: 'array', items: exactObject(accessToken) } })),
      },
    },
    errors: [...storeErrors, 'unauthorized'],
  }),
  createToken: operation({
    id: 'createAccessToken',
    summary: 'Create an access token',
    description: 'Its text is in this answer and nowhere else.',
    parameters: [csrf],
    body: json(
      'Its name, and when it expires',
      {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 200 },
          expiresAt: nullable({ ...dateTime, description: 'Within ten years; null: never' }),
        },
      },
      { name: 'ci', expiresAt: null },
    ),
    answers: {
      201: {
        description: 'The token',
        headers: noStore,
        content: jsonContent(exactObject({ token: text, ...accessToken })),
      },
    },
    errors: [...changeErrors, 'quota_exceeded'],
  }),
  revokeToken: operation({
    id: 'revokeAccessToken',
    summary: 'Revoke an access token',
    description: 'It stops working everywhere within a second.',
    pathParameters: { id: { description: 'The `id` of an access token', schema: uuid } },
    parameters: [csrf],
    answers: { 204: { description: 'It is revoked', headers: noStore } },
    errors: [...storeErrors, 'csrf_refused', 'unauthorized', 'not_found', 'unavailable'],
  }),
  page: operation({
    id: 'getDashboard',
    summary: 'Show the dashboard',
    description: 'The web app, and the files that it is made of. Its own addresses all answer its one page.',
    access: 'none',
    pathParameters: {
      rest: { description: 'A page or a file of the web app; it may have slashes', schema: text },
    },
    answers: {
      200: {
        description: 'The page, or the file',
        headers: {
          'Cache-Control': header('A file whose name has its hash never changes'),
          'Content-Security-Policy': header('Nothing is loaded but what this origin serves'),
          'X-Content-Type-Options': header('nosniff'),
          'Referrer-Policy': header('no-referrer'),
          Vary: header('accept-encoding'),
          ETag: header('Of the page or file'),
        },
        content: { 'text/html': { schema: text }, '*/*': { schema: text } },
      },
      304: {
        description: 'The client has it',
        headers: { 'Cache-Control': header('As above'), ETag: header('As above') },
      },
    },
    errors: [...doorErrors, 'not_found', 'internal_error'],
    head: { summary: 'Ask about the dashboard', statuses: [200, 304] },
  }),
  entrance: operation({
    id: 'goToDashboard',
    summary: 'Go to the dashboard',
    access: 'none',
    answers: {
      302: { description: 'To the address with a slash', headers: { Location: header('/_console_/') } },
    },
    errors: doorErrors,
  }),
} as const satisfies Readonly<Record<string, ApiOperation>>;
