import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kernel/errors/api-error.ts';
import { cantSendMail, invalidValue, linkRefused, notAllowed, overloaded } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { MailPurpose, Mails } from '#kernel/record-events/mail.ts';
import { findStored } from '#records/find-stored.ts';
import { validateChanges } from '#records/input/validate-changes.ts';
import { type RecordValues, validateRecord } from '#records/input/validate-record.ts';
import type { RecordChanges } from '#records/record-changes.ts';
import type { RecordInserts } from '#records/record-inserts.ts';
import { filledIn } from '#records/ruled.ts';
import type { NewRecord } from '#records/sql/new-record.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { Field } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { readFieldValue } from '#records/types/field-types.ts';
import { alreadyStored, collectUniqueValues } from '#records/unique-values.ts';
import type { Spaces } from '../space/spaces.ts';
import { isMailAddress } from './mail-address.ts';
import type { MailLimits } from './mail-limits.ts';
import type { SignUpSettings } from './sign-up-settings.ts';
import { type MailProof, type SignUpSpace, type SignUpUsers, signUpOf } from './sign-up-users.ts';

interface SignUpsParts {
  readonly spaces: Pick<Spaces, 'find'>;
  readonly store: RecordStore;
  readonly records: Pick<RecordInserts, 'store'>;
  readonly changes: Pick<RecordChanges, 'update'>;
  readonly users: SignUpUsers;
  readonly limits: Pick<MailLimits, 'admit'>;
  readonly mails: Mails;
}

/** Milliseconds that a sign-up with a mail takes at least, so that one write more or less can't be measured. */
const leastTime = 500;
/** Attempts to store a user while others try the same values. */
const attempts = 3;

/** Sign-up, verification of addresses, and new passwords (docs/sign-up.md). */
export class SignUps {
  readonly #parts: SignUpsParts;

  constructor(parts: SignUpsParts) {
    this.#parts = parts;
  }

  /**
   * Stores a user as the rules let the request insert one. Null: the user has to verify the address first, or the address
   * has a user, which the answer must not show.
   * @param space as the request sees it @param sender null: a server
   */
  async signUp(
    space: RecordSpace,
    body: unknown,
    { sender, signal }: { readonly sender: string | null; readonly signal: AbortSignal },
  ): Promise<NewRecord | null> {
    const began = performance.now();
    const settings = settingsOf(space);
    const { email, verified, required } = settings;
    if (verified !== null) this.#assertMails(settings);
    const values = readUser(body, space, settings);
    const address = valueIn(values, space, email) as string;
    const { ownerId, id: spaceId } = space;
    await this.#parts.limits.admit({ ownerId, spaceId, address, sender });
    const stored = await this.#storeUser(signingUp(space, settings), values, settings, signal);
    const purpose = stored === null ? 'haveAccount' : 'verifyEmail';
    if (verified !== null) await this.#promise(space, settings, purpose, address);
    if (!required) return stored;
    await sleep(Math.max(0, leastTime - (performance.now() - began)), undefined, { signal });
    return null;
  }

  /** Promises a mail to an address. The work is the same whether it has a user or not. */
  async ask(
    space: RecordSpace,
    purpose: 'verifyEmail' | 'resetPassword',
    { address, sender }: { readonly address: string; readonly sender: string | null },
  ): Promise<void> {
    const settings = settingsOf(space);
    if (purpose === 'verifyEmail') assertVerifies(settings);
    this.#assertMails(settings);
    // as it would be stored: a field may ignore spaces around it, and its case
    const reading = readFieldValue(settings.email, address);
    const stored = 'value' in reading ? String(reading.value) : '';
    if (!isMailAddress(stored)) throw invalidValue([badAddress('email')]);
    const { ownerId, id: spaceId } = space;
    await this.#parts.limits.admit({ ownerId, spaceId, address: stored, sender });
    await this.#promise(space, settings, purpose, stored);
  }

  async verifyEmail(space: RecordSpace, proof: MailProof, signal: AbortSignal): Promise<void> {
    const where = await this.#stored(space, signal);
    const { slug } = assertVerifies(where.settings);
    await this.#useProof(where, 'verifyEmail', { proof, values: { [slug]: true } }, signal);
  }

  /** Sets a new password. The mail has reached the user, so the address is verified as well. */
  async resetPassword(
    space: RecordSpace,
    { proof, password }: { readonly proof: MailProof; readonly password: unknown },
    signal: AbortSignal,
  ): Promise<void> {
    const where = await this.#stored(space, signal);
    const { password: field, verified } = where.settings;
    if (typeof password !== 'string' || password === '')
      throw invalidValue(["Body field: 'password' should be the new password"]);
    const values = { [field.slug]: password, ...(verified === null ? {} : { [verified.slug]: true }) };
    // the change of a hashed field ends the logins before it
    await this.#useProof(where, 'resetPassword', { proof, values }, signal);
  }

  /** Changes a user by a proof, which is checked again once no other request can change the user. */
  async #useProof(
    where: SignUpSpace,
    purpose: 'verifyEmail' | 'resetPassword',
    { proof, values }: { readonly proof: MailProof; readonly values: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ): Promise<void> {
    const { users, changes } = this.#parts;
    const { space } = where;
    const wanted = validateChanges(values, space.structure);
    const user = await users.byProof(where, purpose, proof, signal);
    if (user === null) throw linkRefused('The link or the code has expired, was used, or is not valid');
    const before = JSON.stringify(user.subject(purpose));
    const stillWanted = async (): Promise<boolean> => {
      const now = await users.byId(where, user.id, signal);
      return now !== null && JSON.stringify(now.subject(purpose)) === before;
    };
    const changed = await changes.update(space, { id: user.id, stillWanted }, wanted, signal);
    if (changed === null) throw linkRefused('The link or the code has expired, was used, or is not valid');
  }

  /** Null: the address is taken, and nobody may see it. Throws for other values that are taken. */
  async #storeUser(
    space: RecordSpace,
    values: RecordValues,
    { email, required }: SignUpSettings,
    signal: AbortSignal,
  ): Promise<NewRecord | null> {
    const { records, store } = this.#parts;
    for (let attempt = 0; attempt < attempts; attempt++) {
      try {
        const { records: stored } = await records.store(space, [values], signal, undefined);
        return stored[0] as NewRecord;
      } catch (error) {
        if (!required || !(error instanceof ApiError) || error.code !== 'not_unique') throw error;
      }
      const complete = await filledIn(space, [values], new Date().toISOString(), signal);
      const unique = await collectUniqueValues(space, complete, signal);
      const taken = [...(await findStored(store, space, unique, signal))];
      const others = taken.filter((key) => unique.get(key)?.field.slug !== email.slug);
      // named alike whether the address is taken or not
      if (others.length > 0) throw alreadyStored(unique, others);
      if (taken.length > 0) return null;
      // another request reserved the values, and did not store them
    }
    throw overloaded('others sign up with the same values');
  }

  async #promise(
    { ownerId, id: spaceId, stored }: RecordSpace,
    { webhook }: SignUpSettings,
    purpose: MailPurpose,
    address: string,
  ): Promise<void> {
    const { projectSlug: project, slug: space } = stored;
    await this.#parts.mails.promise({ purpose, ownerId, spaceId, project, space, address, webhook });
  }

  /** With its stored structure, and not bound: what allows the change is the proof. */
  async #stored({ catalogueId }: RecordSpace, signal: AbortSignal): Promise<SignUpSpace> {
    const space = await this.#parts.spaces.find(catalogueId, signal);
    if (space === null) throw noSignUp();
    return { space, settings: settingsOf(space) };
  }

  #assertMails({ webhook }: SignUpSettings): void {
    if (webhook === null && !this.#parts.mails.hasSmtp) throw cantSendMail();
  }
}

function settingsOf(space: RecordSpace): SignUpSettings {
  const settings = space.missing ? null : signUpOf(space);
  if (settings === null) throw noSignUp();
  return settings;
}

function noSignUp(): ApiError {
  return notAllowed('The rules of the record space have no signUp');
}

function assertVerifies({ verified }: SignUpSettings): Field {
  if (verified === null) throw notAllowed('signUp in the rules of the record space has no verified');
  return verified;
}

/** The space for an insert that sets what rules otherwise let nobody set. */
function signingUp(space: RecordSpace, { email, verified }: SignUpSettings): RecordSpace {
  const { bound } = space;
  if (bound === undefined) return space;
  const readonly = bound.readonly.filter((slug) => slug !== email.slug && slug !== verified?.slug);
  return { ...space, bound: { ...bound, readonly } };
}

/** The values of a new user, whose address is not verified. Throws a 400 that lists every problem. */
function readUser(body: unknown, space: RecordSpace, settings: SignUpSettings): RecordValues {
  const { email, password, verified } = settings;
  const values = [...validateRecord(body, space.structure)];
  const problems: string[] = [];
  const address = valueIn(values, space, email);
  if (typeof address !== 'string' || !isMailAddress(address)) problems.push(badAddress(email.name));
  if ((valueIn(values, space, password) ?? null) === null)
    problems.push(`Body field: ${shownName(password.name)} is missing: a user needs one`);
  if (problems.length > 0) throw invalidValue(problems);
  if (verified !== null) {
    if ((valueIn(values, space, verified) ?? false) !== false)
      throw notAllowed(`Body field: ${shownName(verified.name)} is only set by a verification mail`);
    const place = placeOf(space, verified);
    if (place !== -1) values[place] = false;
  }
  return values;
}

function valueIn(values: RecordValues, space: RecordSpace, field: Field): RecordValues[number] | undefined {
  return values[placeOf(space, field)];
}

function placeOf({ structure }: RecordSpace, { slug }: Field): number {
  return structure.fields.findIndex((field) => field.slug === slug);
}

function badAddress(name: string): string {
  return `Body field: ${shownName(name)} should be one e-mail address, such as ada@example.com`;
}
