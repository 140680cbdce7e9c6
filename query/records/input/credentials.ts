import { createHash } from 'node:crypto';
import { invalidBody, invalidCondition, invalidValue } from '#kernel/errors/catalogue.ts';
import { Problems } from '#kernel/errors/problems.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Field, isSystemKey } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { readFieldValue, typeOfIds } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import { type Condition, type Conditions, equals, type HashedCondition } from './parse-conditions.ts';

/** Each is checked with argon2id, whether the user exists or not. */
export const maxHashed = 5;
export const maxPlain = 100;

/**
 * Reads the body of login: values of fields. The hashed ones prove the claim of the others. Throws a 400 that lists
 * every problem.
 */
export function parseCredentials(body: unknown, structure: Structure): Conditions {
  if (!isObject(body)) {
    throw invalidBody(
      'Request body should be a JSON object with the values of fields, such as email and password',
    );
  }
  const problems = new Problems();
  const plain: Condition[] = [];
  const hashed: HashedCondition[] = [];
  const seen = new Set<Field>();
  // entries, not property access: a field may be called `__proto__` or `constructor`
  for (const [key, value] of Object.entries(body)) {
    const field = fieldNamed(key, structure);
    if (field === undefined) {
      const reading = key === 'id' ? readFieldValue({ type: typeOfIds }, value) : null;
      if (reading !== null && 'value' in reading) plain.push(equals('id', reading.value));
      else if (reading !== null) problems.add(`Value for Body field: 'id' ${reading.problem}`);
      else if (isSystemKey(key)) problems.add(`Body field: '${key}' can not be used to log in`);
      else problems.add(`Body field: ${shownName(key)} is not in the structure`);
      continue;
    }
    if (seen.has(field)) {
      problems.add(`Body field: ${shownName(field.name)} is given twice, by name and by slug`);
      continue;
    }
    seen.add(field);
    const reading = readFieldValue(field, value);
    if ('problem' in reading)
      problems.add(`Value for Body field: ${shownName(field.name)} ${reading.problem}`);
    else if (field.hashed) hashed.push({ field, value: reading.value });
    else plain.push(equals(field, reading.value));
  }
  if (problems.found) throw invalidValue(problems.list());
  const lacking = structure.loginParams.flatMap((name) => lackingParam(name, structure, body, seen) ?? []);
  if (plain.length === 0) lacking.push('Login needs a field that is not hashed, such as an email');
  // if the structure says so, a proof of identity may be stored unhashed, such as a code that is sent to users
  if (hashed.length === 0 && structure.loginParams.length === 0) {
    lacking.push(
      'Login needs a hashed field, such as a password, or functionOptions.login.compulsoryParams in the structure',
    );
  }
  if (hashed.length > maxHashed) lacking.push(`Login takes at most ${maxHashed} hashed fields`);
  if (plain.length > maxPlain) lacking.push(`Login takes at most ${maxPlain} fields that are not hashed`);
  if (lacking.length > 0) throw invalidCondition(lacking);
  return { relationship: 'And', plain, others: [], hashed };
}

/** Includes hidden fields: users know the values that log them in. */
function fieldNamed(name: string, { fields, places }: Structure): Field | undefined {
  const place = places.get(name);
  return place === undefined ? undefined : fields[place];
}

function lackingParam(
  name: string,
  structure: Structure,
  body: object,
  seen: ReadonlySet<Field>,
): string | null {
  if (name === 'id') return Object.hasOwn(body, 'id') ? null : `Body field: 'id' is needed to log in`;
  const field = fieldNamed(name, structure);
  if (field === undefined) {
    return `functionOptions.login.compulsoryParams names ${shownName(name)}, which is not in the structure`;
  }
  return seen.has(field) ? null : `Body field: ${shownName(field.name)} is needed to log in`;
}

/**
 * Identifies the target of an attempt, for counting failures: by the values of unique fields if there are any, so that
 * adding other fields can't spread guesses at one user over many identities.
 */
export function identityKey(spaceId: string, { plain }: Pick<Conditions, 'plain'>): string {
  const unique = plain.filter(({ target }) => typeof target === 'string' || target.unique);
  const values = (unique.length > 0 ? unique : plain)
    .map(({ target, value }) => JSON.stringify([typeof target === 'string' ? target : target.slug, value]))
    .sort();
  return createHash('sha256')
    .update(JSON.stringify([spaceId, values]))
    .digest('base64');
}

/**
 * A key for each unique value of the request, so that guesses at one user by several of them add up. Without hashed values
 * any other value may be the guess, so each counts by itself. The keys are always in the same order, with the id last, so
 * that requests that hold several of them can't deadlock.
 */
export function identityKeys(
  spaceId: string,
  { plain, hashed }: Pick<Conditions, 'plain' | 'hashed'>,
): readonly string[] {
  const keysOf = (conditions: readonly Condition[]): string[] =>
    [...new Set(conditions.map((condition) => identityKey(spaceId, { plain: [condition] })))].sort();
  const byId = keysOf(plain.filter(({ target }) => target === 'id'));
  const byField = keysOf(
    plain.filter(({ target }) => typeof target !== 'string' && (target.unique || hashed.length === 0)),
  );
  const keys = [...byField, ...byId];
  return keys.length > 0 ? keys : [identityKey(spaceId, { plain })];
}

/** The key of a record, as a condition on its id gives it. */
export function recordIdentity(spaceId: string, id: string): string {
  return identityKey(spaceId, { plain: [equals('id', id)] });
}
