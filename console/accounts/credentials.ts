import { invalidBody } from '#kernel/errors/catalogue.ts';
import { longestName, nameProblem } from '#kernel/ids/slug.ts';

export const passwordLength = { min: 8, max: 256 } as const;
export const longestEmail = 254;
/** Deliberately loose: only sending a mail shows whether an address exists. */
export const emailPattern = /^[^\s@\p{Cc}\p{Surrogate}]+@[^\s@\p{Cc}\p{Surrogate}]+$/u;

/** The e-mail address and password of a login. */
export interface Credentials {
  /** Lower case. */
  readonly email: string;
  readonly password: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Throws 400 unless the body is a JSON object. */
export function readFields(body: unknown): Fields {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Fields;
  throw invalidBody('The request body should be a JSON object');
}

/** Reads a login. Invalid values are refused later, like wrong ones; throws 400 only unless both are strings. */
export function readLogin(body: unknown): Credentials {
  const fields = readFields(body);
  const problems = ['email', 'password'].filter((key) => typeof fields[key] !== 'string');
  if (problems.length > 0) throw invalidBody(problems.map((key) => `${key} should be a text`));
  // cut longer texts: they match no account anyway, and the throttle remembers them for a while
  const email = emailOf(fields.email as string).slice(0, longestEmail + 1);
  return { email, password: normal(fields.password as string) };
}

/** Reads a registration. Throws 400 with every problem. */
export function readRegistration(body: unknown): Credentials & {
  readonly name: string;
  readonly claimToken: string | null;
  readonly invitation: string | null;
} {
  const { email, password, name = '', claimToken = null, invitation = null } = readFields(body);
  const problems = [emailProblem(email), passwordProblem('password', password), personProblem(name)];
  if (claimToken !== null && typeof claimToken !== 'string') problems.push('claimToken should be a text');
  if (invitation !== null && typeof invitation !== 'string') problems.push('invitation should be a text');
  refuse(problems);
  return {
    email: emailOf(email as string),
    password: normal(password as string),
    name: name as string,
    claimToken: claimToken as string | null,
    invitation: invitation as string | null,
  };
}

export function readPasswordChange(body: unknown): { readonly current: string; readonly next: string } {
  const { current, next } = readFields(body);
  refuse([typeof current === 'string' ? null : 'current should be a text', passwordProblem('next', next)]);
  return { current: normal(current as string), next: normal(next as string) };
}

/** Reads a change of the e-mail address, or the deletion of an account: both name an address. */
export function readAddressAndPassword(body: unknown): Credentials {
  const { email, password } = readFields(body);
  refuse([emailProblem(email), typeof password === 'string' ? null : 'password should be a text']);
  return { email: emailOf(email as string), password: normal(password as string) };
}

/** Reads the e-mail address of a person who is invited. */
export function readEmail({ email }: Fields, problems: string[]): string {
  const problem = emailProblem(email);
  if (problem !== null) problems.push(problem);
  return problem === null ? emailOf(email as string) : '';
}

/** Reads the token of a link. */
export function readLinkToken(body: unknown): string {
  const { token } = readFields(body);
  if (typeof token !== 'string') throw invalidBody('token should be a text');
  return token;
}

function refuse(problems: readonly (string | null)[]): void {
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw invalidBody(found);
}

function emailOf(text: string): string {
  return text.trim().normalize('NFC').toLowerCase();
}

/** NIST SP 800-63B section 3.1.1.2: normalize, because keyboards compose the same characters differently. */
function normal(password: string): string {
  return password.normalize('NFKC');
}

function emailProblem(email: unknown): string | null {
  if (typeof email !== 'string') return 'email should be a text';
  const address = emailOf(email);
  if (address.length <= longestEmail && emailPattern.test(address)) return null;
  return `email should be an e-mail address of at most ${longestEmail} characters`;
}

function passwordProblem(key: string, password: unknown): string | null {
  const { min, max } = passwordLength;
  if (typeof password !== 'string') return `${key} should be a text`;
  // roughly the characters that people count
  const length = [...normal(password)].length;
  return length >= min && length <= max ? null : `${key} should have ${min} to ${max} characters`;
}

function personProblem(name: unknown): string | null {
  if (typeof name !== 'string') return 'name should be a text';
  const problem = name === '' ? null : nameProblem(name);
  return problem === null ? null : `name ${problem}; it should have at most ${longestName} characters`;
}
