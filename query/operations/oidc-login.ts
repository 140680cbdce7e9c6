import { loginStateOf, newLogin } from '#auth/login-state.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { notAllowed, notVerified, unauthorized } from '#kernel/errors/catalogue.ts';
import { dateTime, exactObject, named, string } from '#kernel/json/schema.ts';
import { allRecords, equals } from '#records/input/parse-conditions.ts';
import { validateRecord } from '#records/input/validate-record.ts';
import { oldest } from '#records/record-reader.ts';
import { unbound } from '#records/ruled.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { readFieldValue } from '#records/types/field-types.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readPath } from '../input/space-reference.ts';
import type { OidcCode } from '../login/oidc-logins.ts';
import { userField } from '../login/oidc-settings.ts';
import { isVerified, signUpOf } from '../login/sign-up-users.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition, QueryParts } from './operation.ts';

const pending = {
  returnTo: 'https://app.example.com/',
  challenge: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
};
const answered = {
  code: 'the value of oidc_code in the fragment',
  verifier: 'the text whose SHA-256 was sent',
};

export const oidcStart: OperationDefinition = {
  async run({ request, open, body }, { oidc }) {
    const space = await open(() => ({ path: readPath(request.params), structure: null }));
    const { url, expiresAt } = await oidc.start(space, await body(), request.signal);
    return noStoreJson({ url, expiresAt: expiresAt.toISOString() });
  },
  summary: 'Begin a login by OpenID Connect',
  description:
    'Answers an address that the browser opens within a minute. The user logs in at the provider, and comes back to `returnTo` with `oidc_code`, or `oidc_error`, in the fragment.',
  isRecord: false,
  body: () => ({
    schema: named('OidcStart', exactObject({ returnTo: string, challenge: string })),
    example: pending,
  }),
  answer: () => named('OidcAddress', exactObject({ url: string, expiresAt: dateTime })),
  errors: ['not_allowed', 'unavailable'],
  sample: { space: 'user' },
};

export const oidcLogin: OperationDefinition = {
  async run({ request, open, body }, deps) {
    const { project = '' } = request.params;
    const { signal } = request;
    let read: OidcCode | undefined;
    const space = await open(async (ownerId) => {
      read = await deps.oidc.read(ownerId, project, await body());
      return { path: readPath({ project: read.projectSlug, space: read.slug }), structure: null };
    });
    const code = read as unknown as OidcCode;
    const settings = await deps.oidc.use(code, signal);
    const { projectId, id: spaceId } = space;
    const recordId = await userOf(deps, space, { ...settings, value: code.value }, signal);
    const row = await verifiedUser(deps, space, recordId, signal);
    const login = newLogin(loginStateOf(row), Date.now());
    const token = await deps.loginTokens.issue({ projectId, spaceId, recordId, login });
    // as the page may see it: hidden fields stay hidden
    const user = await deps.reader.byId(unbound(space), recordId, signal);
    return jsonAnswer(`{"token":${JSON.stringify(token)},"user":${user}}`);
  },
  summary: 'Finish a login by OpenID Connect',
  description:
    'Takes the code that came in the fragment, once, within a minute, and answers a login token like `login`. The record of the user is found by the field that the settings name, or made if they allow it.',
  isRecord: false,
  body: () => ({
    schema: named('OidcCode', exactObject({ code: string, verifier: string })),
    example: answered,
  }),
  answer: ({ record }) => named('Login', exactObject({ token: string, user: record })),
  errors: ['invalid_value', 'not_allowed', 'not_verified', 'unavailable'],
  sample: {},
};

interface WantedUser {
  readonly field: string;
  readonly value: string;
  readonly signUp: boolean;
}

/**
 * The record of a user. Throws 403 if the user signed up and has not verified the address: somebody else may have signed
 * up with it, and know the password.
 */
async function verifiedUser(
  { store }: QueryParts,
  space: RecordSpace,
  id: string,
  signal: AbortSignal,
): Promise<StoredRow> {
  const [row] = await store.lookUp(unbound(space), { id }, signal);
  if (row === undefined) throw unauthorized('There is no user for this login');
  const signUp = signUpOf(space);
  if (signUp !== null && !isVerified(signUp, row)) throw notVerified();
  return row;
}

/** The id of the user's record, which is made if the settings allow it. */
async function userOf(
  { reader, records, spaces }: QueryParts,
  { catalogueId, structure: shown }: RecordSpace,
  { field: slug, value, signUp }: WantedUser,
  signal: AbortSignal,
): Promise<string> {
  const space = await spaces.find(catalogueId, signal);
  const field = space === null ? undefined : userField(space.structure, slug);
  if (space === null || field === undefined)
    throw notAllowed(`The settings of the login no longer fit the record space ${shown.slug}`);
  const reading = readFieldValue(field, value);
  if ('problem' in reading)
    throw unauthorized('The provider names the user in a way that the field can not have');
  const conditions = { ...allRecords, plain: [equals(field, reading.value)] };
  const find = (): Promise<string | null> => reader.firstId(space, { ...oldest, conditions }, signal);
  const found = await find();
  if (found !== null) return found;
  if (!signUp) throw unauthorized('There is no user for this login');
  try {
    const { verified = null, email } = signUpOf(space) ?? {};
    // the provider vouches for an address, and not for more
    const vouched = verified === null || email?.slug !== field.slug ? {} : { [verified.name]: true };
    const values = validateRecord({ [field.name]: value, ...vouched }, space.structure);
    const {
      records: [made],
    } = await records.store(space, [values], signal, undefined);
    if (made !== undefined) return made.id;
  } catch (error) {
    // two logins of a new user at once: one of them makes the record
    if (!(error instanceof ApiError) || error.code !== 'not_unique') throw error;
  }
  const other = await find();
  if (other === null) throw unauthorized('There is no user for this login');
  return other;
}
