import { equalSecrets } from './equal-secrets.ts';
import type { KeyedHash } from './signing-keys.ts';

/** What a token of a mail allows, for one user. */
export interface MailTokenSubject {
  readonly purpose: 'verifyEmail' | 'resetPassword';
  /** Id of the record space of the users: it belongs to one project of one account. */
  readonly spaceId: string;
  readonly userId: string;
  /** The stored values that a use of the token changes: so it can be used once. */
  readonly state: readonly (string | null)[];
}

export interface MailTokens {
  /** A token for a link, and a shorter code to be typed, which is only good together with the address. */
  issue(subject: MailTokenSubject): Promise<{ readonly token: string; readonly code: string }>;
  isToken(subject: MailTokenSubject, token: string): Promise<boolean>;
  isCode(subject: MailTokenSubject, code: string): Promise<boolean>;
}

/** Minutes that a token is good for, counted from the begun minute of its issue. */
export const mailTokenMinutes = 15;
const minute = 60_000;
/** Of a proof: 160 bits in a token, 40 bits in a code. */
const tokenBytes = 20;
const codeBytes = 5;
/** https://www.crockford.com/base32.html: no letter looks like a digit. */
const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const tokenForm = /^(.{1,200})\.([0-9a-z]{1,9})\.([A-Za-z0-9_-]{27})$/s;

/**
 * Tokens that nobody stores: a keyed hash of what they allow, of when, and of the state of their user.
 * @param keyOf keyed for this purpose alone @param now milliseconds since 1970
 */
export function createMailTokens(keyOf: KeyedHash, now: () => number): MailTokens {
  const proofOf = ({ purpose, spaceId, userId, state }: MailTokenSubject, at: number): Promise<Buffer> =>
    keyOf(JSON.stringify([purpose, spaceId, userId, state, at]));
  const current = (): number => Math.floor(now() / minute);
  return {
    async issue(subject) {
      const at = current();
      const proof = await proofOf(subject, at);
      const text = proof.subarray(0, tokenBytes).toString('base64url');
      return { token: `${subject.userId}.${at.toString(36)}.${text}`, code: codeOf(proof) };
    },
    async isToken(subject, token) {
      const { userId, at, proof } = parseMailToken(token) ?? { userId: '', at: 0, proof: Buffer.alloc(0) };
      const age = current() - at;
      if (userId !== subject.userId || age < 0 || age >= mailTokenMinutes) return false;
      return equalSecrets(proof, (await proofOf(subject, at)).subarray(0, tokenBytes));
    },
    async isCode(subject, code) {
      const given = Buffer.from(readCode(code));
      const latest = current();
      let isOne = false;
      for (let age = 0; age < mailTokenMinutes; age++) {
        const wanted = Buffer.from(readCode(codeOf(await proofOf(subject, latest - age))));
        if (equalSecrets(given, wanted)) isOne = true;
      }
      return isOne;
    },
  };
}

/** The parts of a token; null: it has another form. Only `isToken` says whether it is genuine. */
export function parseMailToken(
  token: string,
): { readonly userId: string; readonly at: number; readonly proof: Buffer } | null {
  const [, userId, at = '', proof = ''] = tokenForm.exec(token) ?? [];
  if (userId === undefined) return null;
  return { userId, at: Number.parseInt(at, 36), proof: Buffer.from(proof, 'base64url') };
}

/** Eight letters in two groups: `K7QM-4XWP`. */
function codeOf(proof: Buffer): string {
  let bits = 0n;
  for (const byte of proof.subarray(0, codeBytes)) bits = bits * 256n + BigInt(byte);
  let code = '';
  for (let place = 35n; place >= 0n; place -= 5n) code += letters[Number((bits >> place) & 31n)];
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** A code as it was typed: in any case, with or without the hyphen, and with letters for digits that look like them. */
function readCode(code: string): string {
  return code.slice(0, 40).toUpperCase().replace(/[\s-]/g, '').replace(/[IL]/g, '1').replace(/O/g, '0');
}
