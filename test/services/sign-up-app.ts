import type { QueryAnswer, QueryCall, QueryHarness } from './query-harness.ts';
import { spaceOf } from './query-harness.ts';
import { fieldsOf } from './record-client.ts';

export const publishable = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };

export const signUpRules = {
  find: { id: '$user.id' },
  insert: true,
  update: { id: '$user.id' },
  signUp: {
    verified: 'verified',
    app: 'Photo wall',
    pages: {
      verifyEmail: 'https://wall.example.com/verify',
      resetPassword: 'https://wall.example.com/password',
    },
  },
};

export interface SignUpApp {
  signUp(body: unknown, more?: Partial<QueryCall>): Promise<QueryAnswer>;
  verifyEmail(body: unknown, more?: Partial<QueryCall>): Promise<QueryAnswer>;
  resetPassword(body: unknown, more?: Partial<QueryCall>): Promise<QueryAnswer>;
  login(email: string, password: string): Promise<QueryAnswer>;
  setRules(rules: unknown): Promise<QueryAnswer>;
  readonly users: ReturnType<typeof spaceOf>;
}

/** A page of an application whose users sign up. Each call comes from an address of its own, unless it names one. */
export async function openSignUpApp(
  harness: Pick<QueryHarness, 'call'>,
  {
    project = 'wall',
    owner = 'owner',
    fields = 'email TEXT unique required, password TEXT hashed, verified BOOLEAN, name TEXT unique',
    rules = signUpRules,
  }: { project?: string; owner?: string; fields?: string; rules?: unknown } = {},
): Promise<SignUpApp> {
  const users = spaceOf(harness, project, 'users', fieldsOf(fields));
  await harness.call({ path: `/${project}/users/set-structure`, body: users.structure, owner });
  const setRules = (given: unknown) =>
    harness.call({ method: 'PUT', path: `/_projects_/${project}/spaces/users/rules`, body: given, owner });
  const set = await setRules(rules);
  if (set.status !== 200) throw new Error(set.problems.join());
  const resources = JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] });
  let sender = 0;
  const call = (name: string, body: unknown, more: Partial<QueryCall> = {}) =>
    harness.call({
      path: `/${project}/function/${name}`,
      body,
      owner,
      address: `10.0.${++sender >> 8}.${sender & 255}`,
      ...more,
      headers: { ...publishable, 'function-resources': resources, ...more.headers },
    });
  return {
    users,
    setRules,
    signUp: (body, more) => call('sign-up', body, more),
    verifyEmail: (body, more) => call('verify-email', body, more),
    resetPassword: (body, more) => call('reset-password', body, more),
    login: (email, password) => call('login', { email, password }),
  };
}
