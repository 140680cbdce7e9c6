import type { MailTokenSubject, MailTokens } from '#auth/mail-tokens.ts';
import { parseMailToken } from '#auth/mail-tokens.ts';
import { notAllowed } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Candidates } from '#records/candidates.ts';
import type { Throttle } from '#records/hash-checks.ts';
import { identityKey } from '#records/input/credentials.ts';
import { type Condition, equals } from '#records/input/parse-conditions.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { slotOf } from '#records/structure/slots.ts';
import { readFieldValue } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { readSignUp, type SignUpSettings } from './sign-up-settings.ts';

/** A space of users with its stored structure, and how they sign up. */
export interface SignUpSpace {
  readonly space: RecordSpace;
  readonly settings: SignUpSettings;
}

export interface SignUpUser {
  readonly id: string;
  readonly address: string;
  readonly isVerified: boolean;
  subject(purpose: MailTokenSubject['purpose']): MailTokenSubject;
}

/** What a request brings from a mail: the token of its link, or its code with the address. */
export type MailProof = { readonly token: string } | { readonly email: string; readonly code: string };

interface SignUpUsersParts {
  readonly candidates: Candidates;
  readonly tokens: MailTokens;
  readonly throttle: Throttle;
}

/** How users of a space sign up; null: its rules do not say. Throws 403 if the rules no longer fit the structure. */
export function signUpOf({ rules, stored }: RecordSpace): SignUpSettings | null {
  const input: unknown = rules === undefined ? null : JSON.parse(rules);
  if (!isObject(input) || input.signUp === undefined) return null;
  const problems: string[] = [];
  const settings = readSignUp(input.signUp, stored, problems);
  if (problems.length > 0)
    throw notAllowed(`signUp in the rules of ${shownName(stored.slug)} no longer fits its fields`);
  return settings;
}

/** Whether a user verified the address, or need not. */
export function isVerified({ verified }: Pick<SignUpSettings, 'verified'>, { _doc }: StoredRow): boolean {
  return verified === null || _doc[slotOf(verified)] === 'true';
}

/** Finds users by their address and by what mails sent them. */
export class SignUpUsers {
  readonly #parts: SignUpUsersParts;

  constructor(parts: SignUpUsersParts) {
    this.#parts = parts;
  }

  async byAddress(where: SignUpSpace, address: string, signal: AbortSignal): Promise<SignUpUser | null> {
    const condition = addressCondition(where.settings, address);
    return condition && this.#oldest(where, condition, signal);
  }

  byId(where: SignUpSpace, id: string, signal: AbortSignal): Promise<SignUpUser | null> {
    return this.#oldest(where, equals('id', id), signal);
  }

  /**
   * The user of a token or a code; null: it is not good, or no longer. Guesses of codes count like those of passwords,
   * whether there is such a user or not.
   */
  async byProof(
    where: SignUpSpace,
    purpose: MailTokenSubject['purpose'],
    proof: MailProof,
    signal: AbortSignal,
  ): Promise<SignUpUser | null> {
    if ('token' in proof) {
      const parsed = parseMailToken(proof.token);
      const user = parsed && (await this.byId(where, parsed.userId, signal));
      return user && (await this.#parts.tokens.isToken(user.subject(purpose), proof.token)) ? user : null;
    }
    const condition = addressCondition(where.settings, proof.email);
    if (condition === null) return null;
    const attempt = async (): Promise<SignUpUser | null> => {
      const user = await this.#oldest(where, condition, signal);
      const nobody = { purpose, spaceId: where.space.id, userId: '', state: [] };
      const isCode = await this.#parts.tokens.isCode(user?.subject(purpose) ?? nobody, proof.code);
      return isCode ? user : null;
    };
    const key = identityKey(where.space.id, { plain: [condition] });
    return this.#parts.throttle.run(key, attempt, signal);
  }

  async #oldest(
    { space, settings }: SignUpSpace,
    condition: Condition,
    signal: AbortSignal,
  ): Promise<SignUpUser | null> {
    const { email, password, verified } = settings;
    const hashed = [{ field: password, value: '' }];
    const conditions = { relationship: 'And', plain: [condition], others: [], hashed } as const;
    const found = await this.#parts.candidates.oldest(space, conditions, signal);
    if (found === null) return null;
    const { row, hashes } = found;
    const address = row._doc[slotOf(email)] ?? '';
    const isProven = verified === null ? null : (row._doc[slotOf(verified)] ?? null);
    return {
      id: row._id,
      address,
      isVerified: isProven === 'true',
      // a use of the token changes the last one
      subject: (purpose) => ({
        purpose,
        spaceId: space.id,
        userId: row._id,
        state: [address, purpose === 'verifyEmail' ? isProven : (hashes[0] ?? null)],
      }),
    };
  }
}

/** Null: no user can have this address. */
function addressCondition({ email }: SignUpSettings, address: string): Condition | null {
  const reading = readFieldValue(email, address);
  return 'value' in reading ? equals(email, reading.value) : null;
}
