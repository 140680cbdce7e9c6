import { shownName } from '#kernel/errors/shown-name.ts';
import { isObject } from '../types/is-object.ts';
import { hasLoneSurrogate } from '../types/text.ts';

/** `authOptions` of a structure: which operations need a login token of one of the application's users. */
export interface SpaceAuth {
  readonly active: boolean;
  /** Slug or display name of the space that holds the users; empty only when not active. */
  readonly space: string;
  /** Families (`find`, `insert`, `update`, `delete`) or operations (`updateOneById`). */
  readonly scope: readonly string[];
  /** A login token that came with the structure. It is never stored. */
  readonly token: string | null;
  /** In a space of users: how long after a login its tokens can be renewed. 0 and absent: they can't be. */
  readonly sessionSeconds?: number;
}

export const longestSpace = 200;
export const longestSession = 366 * 24 * 3600;
/** More than there are scopes. */
export const maxScopes = 100;

/** Families of operations on the records of a space. */
export const families = ['find', 'insert', 'update', 'delete'] as const;
export type Family = (typeof families)[number];

/** The part of an operation that authorisation needs. */
export interface OperationIdentity {
  readonly name: string;
  /** Null: it needs no login, or checks it itself. */
  readonly family: Family | null;
  /** Does not create a missing space, unless the space has initial records. */
  readonly readsOnly?: true;
}

/** Whether an operation needs a login token when this rule is active. */
export function covers({ scope }: SpaceAuth, { name, family }: OperationIdentity): boolean {
  return family !== null && (scope.includes(family) || scope.includes(name));
}

/**
 * Reads `authOptions`; absent parts count as the stricter choice: active, and every operation.
 * @param scopes the known scopes; null: the text was checked when it was stored
 */
export function parseSpaceAuth(
  input: unknown,
  problems: string[],
  scopes: readonly string[] | null,
): SpaceAuth | null {
  if (input === undefined || input === null) return null;
  const complain = (problem: string): void => void problems.push(`The structure has authOptions ${problem}`);
  if (!isObject(input)) {
    complain('that are not an object');
    return null;
  }
  const active = input.active ?? true;
  if (typeof active !== 'boolean') complain('with an active that is not true or false');
  const space = input.space ?? '';
  if (typeof space !== 'string' || space.length > longestSpace || hasLoneSurrogate(space)) {
    complain('with a space that is not the name of a record space');
  } else if (space === '' && active !== false) {
    complain('without space: it names the record space that holds the users');
  }
  const token = input.token ?? null;
  if (token !== null && typeof token !== 'string') complain('with a token that is not text');
  const seconds = input.sessionSeconds ?? null;
  const isSession = Number.isInteger(seconds) && Number(seconds) >= 0 && Number(seconds) <= longestSession;
  if (seconds !== null && !isSession)
    complain(`with sessionSeconds that are not a whole number from 0 to ${longestSession}`);
  return {
    active: active === true,
    space: String(space),
    scope: readScope(input.scope, scopes, complain),
    token: typeof token === 'string' && token !== '' ? token : null,
    ...(isSession ? { sessionSeconds: Number(seconds) } : {}),
  };
}

function readScope(
  input: unknown,
  scopes: readonly string[] | null,
  complain: (problem: string) => void,
): readonly string[] {
  if (input === undefined || input === null) return families;
  if (!Array.isArray(input)) {
    complain('with a scope that is not an array');
    return [];
  }
  if (input.length > maxScopes) {
    complain(`with a scope of ${input.length} entries; at most ${maxScopes} are allowed`);
    return [];
  }
  for (const item of input as readonly unknown[]) {
    if (typeof item === 'string' && (scopes === null || scopes.includes(item))) continue;
    const shown = typeof item === 'string' ? ` ${shownName(item)}` : '';
    complain(`with an unknown scope${shown}: it should be of ${families.join(', ')} or an operation's name`);
  }
  return [...new Set(input as readonly string[])];
}
