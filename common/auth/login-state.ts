import { randomBytes } from 'node:crypto';
import type { LoginOfToken } from './login-tokens.ts';

/**
 * Which logins of a user have ended: a text in a slot of the user's record that no field has. Its first word is the
 * generation of the logins, which changes with every hashed value of the record. The others are logins that ended, each with
 * the time until which it must be remembered: `generation login:seconds login:seconds`.
 */
export const loginSlot = 'ml';

/** Ended logins of a user that are remembered one by one. If there are more, all logins of the user end. */
const mostEnded = 32;

/** The state in a record's row. */
export function loginStateOf({ _doc }: { readonly _doc: Readonly<Record<string, string>> }): string {
  return _doc[loginSlot] ?? '';
}

/** A state that ends all earlier logins. */
export function newLoginState(): string {
  return randomBytes(9).toString('base64url');
}

/** A new login under this state. @param now milliseconds */
export function newLogin(state: string, now: number): LoginOfToken {
  return {
    id: randomBytes(9).toString('base64url'),
    began: Math.floor(now / 1000),
    generation: generationOf(state),
  };
}

/** @param login undefined: of a token of an earlier version */
export function hasEnded(state: string, login: LoginOfToken | undefined): boolean {
  if (state === '') return login !== undefined && login.generation !== '';
  const [generation, ...ended] = state.split(' ');
  return login === undefined
    ? generation !== ''
    : generation !== login.generation || ended.some((one) => one.startsWith(`${login.id}:`));
}

/**
 * The state after the end of a login.
 * @param until when its last token has expired. Seconds since 1970, as `now`
 */
export function withEnded(
  state: string,
  login: LoginOfToken | undefined,
  { until, now }: { readonly until: number; readonly now: number },
): string {
  if (login === undefined) return newLoginState();
  const [generation, ...before] = state.split(' ');
  const ended = before.filter((one) => Number(one.slice(one.indexOf(':') + 1)) > now);
  if (ended.length >= mostEnded) return newLoginState();
  return [generation, ...ended, `${login.id}:${until}`].join(' ');
}

function generationOf(state: string): string {
  return state.split(' ', 1)[0] as string;
}
